"""What all ranks must agree on before they compute together."""

import socket

import torch
import torch.distributed as dist

from idbpd.experiment.records.provenance import solver_sha256

LONGEST = 400  # bytes of a text that ranks exchange


def everyone(text: str) -> list[str]:
    """The text of every rank."""
    mine = torch.zeros(LONGEST, dtype=torch.uint8)
    content = text.encode()[:LONGEST]
    mine[: len(content)] = torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else mine[:0]
    texts = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(texts, mine)
    return [bytes(one.tolist()).rstrip(b"\0").decode(errors="ignore") for one in texts]


def disagreement() -> str:
    """Which rank runs other code than the first one; empty where all run the same."""
    around = {
        "torch": str(torch.__version__),
        "the instruction set": torch.backends.cpu.get_cpu_capability(),
        "solver code (SHA-256)": solver_sha256(),
    }
    for what, mine in around.items():
        texts = everyone(mine)
        nodes = everyone(socket.gethostname())
        for rank, (text, node) in enumerate(zip(texts, nodes, strict=True)):
            if text != texts[0]:
                return f"rank {rank} on {node} has another {what} than rank 0 on {nodes[0]}: {text}, not {texts[0]}"
    return ""
