"""What a replay repeats: the published comparison behind a protocol, and its machines."""

from typing import Literal

from pydantic import Field

from deadheat.catalog.manifest import Name, Strict, Text, Texts


class Origin(Strict):
    """`[origin]`: what was published, and what of it is a fact rather than a setting."""

    figures: Name  # published/FIGURES.csv; the manifests' published rows bear the same name
    command: Text  # of the load generator, as published
    body: Text  # of the published response; ours is the same for all
    client_host: Literal["same", "another"]
    server: Text  # the published machine under test
    client: Text | None = None  # the published load host, where it is another
    aggregate_stated: bool = True  # whether the page says which of its repetitions it shows
    sysctl: dict[str, str] = Field(default={})  # as the published machines were set
    open_files: int | None = Field(default=None, ge=1)
    sources: Texts  # where each of these facts is to be read
