"""Pages of blocks as data: read and checked, shapes inferred before anything is computed, run, and exported."""

from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.checks import Checked, check
from poolgrad.pages.files import dumps, examples, load, loads, save
from poolgrad.pages.model import LIMITS, NO_LIMITS, Block, Document, Limits, Page, Port, Wire
from poolgrad.pages.problems import CODES, PageError, Problem
from poolgrad.pages.runner import Outcome, Run, run, unmet

__all__ = [
    "BLOCKS",
    "CODES",
    "LIMITS",
    "NO_LIMITS",
    "Block",
    "Checked",
    "Document",
    "Limits",
    "Outcome",
    "Page",
    "PageError",
    "Port",
    "Problem",
    "Run",
    "Wire",
    "check",
    "dumps",
    "examples",
    "load",
    "loads",
    "run",
    "save",
    "unmet",
]
