"""Files of another program in a project: read whole, written whole with their mode kept, or refused by name.

No link is followed, and a file that its owner may not write is left alone: replacing it would only look like writing.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ruleproof.edge import fs
from ruleproof.errors import Refused


def read_text(file: Path, place: Path) -> str | None:
    """The file's text; None where there is none. `place`: the folder of ours above it, below which no link is followed.

    Raises Refused or StoreError for a link, for what is no UTF-8 and for what is read-only.
    """
    fs.refuse_links(*(folder for folder in file.parents if folder.is_relative_to(place) and folder != place))
    data = fs.read_bytes(file)
    if data is None:
        return None
    if not os.lstat(file).st_mode & stat.S_IWUSR or not os.access(file, os.W_OK):
        raise Refused(f"{file} is read-only.", hint="Make it writable if it may be changed; nothing was written.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Refused(f"{file} is not UTF-8: {error.reason}.", hint="Mend it first; nothing was written.") from error


def write_text(file: Path, text: str | None) -> None:
    """Replace the file, or remove it with None. A file that was there keeps its mode."""
    if text is None:
        fs.unlink(file)
        return
    mode = stat.S_IMODE(os.lstat(file).st_mode) if file.exists() else None
    fs.write_atomic(file, text.encode())
    if mode is not None:
        file.chmod(mode)
