"""One running aggregate of a SELECT, and the way in which the rows of its frames are found."""

from __future__ import annotations
