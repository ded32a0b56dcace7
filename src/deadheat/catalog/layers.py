"""Catalogs are layers: what the user's own catalog lacks is that of the one that deadheat ships."""

from pathlib import Path

from deadheat.errors import UsageFault

NAME_BYTES_MAX = 250  # of NAME_MAX in limits.h


def shipped_root() -> Path | None:
    """The catalog of this checkout or of the installed package; None if neither is there."""
    package = Path(__file__).resolve().parents[1]
    for place in (package.parents[1], package / "shipped"):
        if (place / "servers").is_dir() and (place / "recipes").is_dir():
            return place
    return None


def layered(root: Path, part: str) -> Path:
    """The file `part` of the catalog in `root`, or the shipped one if `root` does not have it.

    Raises `UsageFault` for a name that no file can have.
    """
    if len(part.encode(errors="replace")) > NAME_BYTES_MAX:
        raise UsageFault(f"{part[:80]}...: expected a name of at most {NAME_BYTES_MAX} bytes")
    shipped = shipped_root()
    if (root / part).exists() or shipped is None or not (shipped / part).exists():
        return root / part
    return shipped / part


def layered_names(root: Path, folder: str, suffix: str = ".toml") -> list[str]:
    """The names of the files in a folder of the catalog and of the shipped one, in order."""
    places = {root, shipped_root() or root}
    return sorted({p.stem for place in places for p in (place / folder).glob(f"*{suffix}")})
