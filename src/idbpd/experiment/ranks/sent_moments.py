"""The moments of layers as a message: their shapes as facts, and all numbers in a row."""

import torch

from idbpd.experiment.ranks.link import Message, Word
from idbpd.mtl.layer_moments import Moments


def as_message(moments: Moments) -> Message:
    """The answer to a question for moments."""
    facts = {
        side: [[at, list(tensor.shape)] for at, tensor in getattr(moments, side).items()] for side in Moments._fields
    }
    numbers = [tensor.flatten() for side in moments for tensor in side.values()]
    content = torch.cat(numbers).cpu().numpy().tobytes() if numbers else b""
    return Message(Word.DONE, facts, content)


def from_message(message: Message, device: torch.device) -> Moments:
    """The moments of an answer."""
    flat = torch.frombuffer(bytearray(message.content), dtype=torch.float64) if message.content else torch.zeros(0)
    flat, begin, sides = flat.to(device), 0, []
    for side in Moments._fields:
        found = {}
        for at, shape in message.facts[side]:
            size = torch.Size(shape).numel()
            found[at] = flat[begin : begin + size].view(shape)
            begin += size
        sides.append(found)
    return Moments(*sides)
