"""PyTorch, for every tool that needs it; a python that has none is told so in one sentence, with exit code 1.

    from pytorch import torch

stands before any other import of torch or of its parts.
"""
import sys

try:
    import torch  # noqa: F401
except ImportError as error:
    name = sys.argv[0].rsplit("/", 1)[-1]
    sys.exit(f"{name}: expected a Python that has PyTorch, and {sys.executable} says: {error}; install PyTorch for it, "
             "or call the tool with another python3")
