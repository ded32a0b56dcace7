"""The origin of a replay: the published comparison and its machines."""

from typing import Literal

from pydantic import Field

from deadheat.catalog.manifest import Name, Strict, Text, Texts


class Origin(Strict):
    """`[origin]`: facts about the published comparison that are not settings."""

    figures: Name  # published/FIGURES.csv; manifests name it in [[published]]
    command: Text  # of the load generator, as published
    body: Text  # of the published response; all our servers send the same one
    client_host: Literal["same", "another"]
    port: int | None = Field(default=None, ge=1, le=65535)  # that the servers listened on
    server: Text  # the published machine under test
    client: Text | None = None  # the published load host, if it was another machine
    aggregate_stated: bool = True  # the page says which repetition it shows
    sysctl: dict[str, str] = Field(default={})  # settings of the published machines
    open_files: int | None = Field(default=None, ge=1, le=2**31 - 1)
    sources: Texts  # of these facts
