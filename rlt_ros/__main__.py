"""`python -m rlt_ros` is the `rlt` command."""

from __future__ import annotations

import sys

from rlt_ros.cli import main

if __name__ == "__main__":
    sys.exit(main())
