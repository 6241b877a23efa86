"""What torchrun starts: ``torchrun ... -m idbpd.experiment.ranks``. See docs/scale.md."""

import argparse
from pathlib import Path

from torch.distributed.elastic.multiprocessing.errors import record

from idbpd.experiment.ranks.worker import work


@record
def main() -> None:
    """Serve the run at the rendezvous until it ends."""
    parser = argparse.ArgumentParser(prog="torchrun ... -m idbpd.experiment.ranks", description=__doc__)
    parser.add_argument("--home", type=Path, help="the folder of the run; kedro run sets it on its own machine")
    parser.add_argument("--backend", choices=("gloo", "nccl"), default="gloo", help="as compute.distributed.backend")
    parser.add_argument("--timeout", type=float, default=60.0, help="as compute.distributed.timeout")
    options = parser.parse_args()
    work(options.home, options.backend, options.timeout)


if __name__ == "__main__":
    main()
