"""The studio: pages of blocks in the browser. Needs the extra ``studio``."""
