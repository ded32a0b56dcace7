"""Lists, licenses and checks what deadheat ships from others.

    python docs/supply_chain.py licenses           write THIRD_PARTY.txt: the crates in the engine
    python docs/supply_chain.py sbom FOLDER        write CycloneDX JSON of the three languages
    python docs/supply_chain.py audit              ask the advisory databases that are reachable

`audit` exits with 1 for a known vulnerability. It says of each language whether it was checked.
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
THIRD_PARTY = ROOT / "THIRD_PARTY.txt"
TARGET = "x86_64-unknown-linux-gnu"
MIT = ("LICENSE-MIT", "LICENSE-MIT.md", "LICENSE", "LICENSE.md", "LICENSE.txt")
LICENSE_FILES = (MIT, ("LICENSE-UNICODE",), ("LICENSE-BoringSSL",), ("LICENSE-other-bits",))
HEADING = """The load engine, deadheat-load, is compiled from these Rust crates. Where a crate
offers several licenses, deadheat uses MIT. ring, untrusted and rustls-webpki have the ISC license,
ring also Apache-2.0, and subtle has BSD-3-Clause. The engine also contains parts of the Rust
standard library (MIT OR Apache-2.0, The Rust Project Contributors). The page of the reports has the
licenses of its JavaScript in a comment. `make licenses` writes this file.
"""
PIP_AUDIT = "pip-audit==2.10.0"
AUDIT_DEADLINE_S = 240.0
UNCHECKED = "could not be audited"  # of pip-audit, about a package that the database did not have

Package = dict[str, Any]


def crates() -> list[Package]:
    """The crates that are compiled into the engine, from `cargo metadata`, sorted by name."""
    command = ("cargo", "metadata", "--locked", "--format-version", "1")
    done = _run(*command, "--filter-platform", TARGET, "--manifest-path", "engine/Cargo.toml")
    if done.returncode:
        raise SystemExit(done.stderr)
    metadata = json.loads(done.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    dependencies = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}
    (engine,) = (i for i, package in packages.items() if package["name"] == "deadheat-load")
    reached = [engine]
    for package in reached:
        for dependency in dependencies[package]:
            shipped = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if shipped and dependency["pkg"] not in reached:
                reached.append(dependency["pkg"])
    return sorted((packages[i] for i in reached[1:]), key=lambda package: str(package["name"]))


def licenses() -> str:
    """The text of THIRD_PARTY.txt: each license once, with the crates that it covers."""
    crates_by_text: defaultdict[str, list[str]] = defaultdict(list)
    for crate in crates():
        folder = Path(crate["manifest_path"]).parent
        for names in LICENSE_FILES:
            path = next((folder / name for name in names if (folder / name).is_file()), None)
            if path is not None:
                name = f"{crate['name']} {crate['version']} ({crate['license']})"
                crates_by_text[path.read_text(encoding="utf-8").strip()].append(name)
            elif names is MIT:
                raise SystemExit(f"{crate['name']} has none of the files {', '.join(names)}")
    parts = [f"{chr(10).join(names)}\n\n{text}\n" for text, names in crates_by_text.items()]
    return f"\n{'-' * 80}\n\n".join([HEADING, *parts])


def sbom(folder: Path) -> None:
    """Write python.cdx.json, page.cdx.json and engine.cdx.json."""
    folder.mkdir(parents=True, exist_ok=True)
    components = [
        {
            "type": "library",
            "name": crate["name"],
            "version": crate["version"],
            "purl": f"pkg:cargo/{crate['name']}@{crate['version']}",
            "licenses": [{"expression": crate["license"].replace("/", " OR ")}],
        }
        for crate in crates()
    ]
    engine = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    text = json.dumps(engine | {"components": components}, indent=1)
    (folder / "engine.cdx.json").write_text(text + "\n", encoding="utf-8")
    python = ("uv", "export", "--quiet", "--locked", "--no-dev", "--format", "cyclonedx1.5")
    page = ("npm", "sbom", "--sbom-format", "cyclonedx", "--omit", "dev")
    for name, command, place in (("python", python, ROOT), ("page", page, ROOT / "web")):
        done = _run(*command, folder=place)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: {done.stderr}")
        (folder / f"{name}.cdx.json").write_text(done.stdout, encoding="utf-8")


def audit() -> int:
    """Print what each database said; 1 if one knows a vulnerability."""
    export = _run("uv", "export", "--quiet", "--locked", "--no-emit-project", "--no-dev")
    lists = ("--disable-pip", "--require-hashes", "--progress-spinner", "off", "-r", "/dev/stdin")
    python = _run("uv", "tool", "run", PIP_AUDIT, *lists, sent=export.stdout)
    page = _run("npm", "audit", "--omit=dev", "--json", folder=ROOT / "web")
    engine = _run("cargo", "audit", "--json")
    verdicts = {
        "Python (pip-audit)": python_verdict(python.returncode, python.stdout + python.stderr),
        "page (npm audit)": page_verdict(page.stdout),
        "engine (cargo audit)": engine_verdict(engine.stdout),
    }
    for name, verdict in verdicts.items():
        print(f"{name}: {verdict or 'NOT CHECKED: no advisory database was reachable'}")
    return int(any(verdict and verdict.startswith("VULNERABLE") for verdict in verdicts.values()))


def python_verdict(code: int, output: str) -> str | None:
    """None if a package was not checked; pip-audit exits with 0 for those."""
    if "Found " in output and "vulnerabilit" in output and code:
        return f"VULNERABLE\n{output}"
    return None if code or UNCHECKED in output else "no known vulnerability"


def page_verdict(output: str) -> str | None:
    try:
        counts = json.loads(output)["metadata"]["vulnerabilities"]
    except (ValueError, LookupError, TypeError):
        return None
    return f"VULNERABLE\n{output}" if counts["total"] else "no known vulnerability"


def engine_verdict(output: str) -> str | None:
    try:
        has_any = json.loads(output)["vulnerabilities"]["found"]
    except (ValueError, LookupError, TypeError):
        return None
    return f"VULNERABLE\n{output}" if has_any else "no known vulnerability"


def _run(
    *command: str, folder: Path = ROOT, sent: str | None = None
) -> "subprocess.CompletedProcess[str]":
    """A command that is missing or hangs counts as failed."""
    try:
        return subprocess.run(
            command,
            cwd=folder,
            input=sent,
            capture_output=True,
            text=True,
            timeout=AUDIT_DEADLINE_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 127, "", str(error))


def main(words: Sequence[str]) -> int:
    match words:
        case ["licenses"]:
            THIRD_PARTY.write_text(licenses(), encoding="utf-8")
        case ["sbom", folder]:
            sbom(Path(folder))
        case ["audit"]:
            return audit()
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
