"""Published tables and figures, ours beside theirs: one module each, run with ``python -m``."""
