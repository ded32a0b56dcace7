"""The store's schema, and the marks by which a file is known as a store."""

import sqlite3
from contextlib import closing

APPLICATION_ID = 0x64656164  # "dead"; SQLite keeps it in the header of the file
VERSION = 1
CONTENT = "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"

SCHEMA = """
CREATE TABLE run (
    id TEXT PRIMARY KEY,              -- 20261120-130405-a1b2
    started_at TEXT NOT NULL,         -- UTC, ISO 8601
    ended_at TEXT,
    state TEXT NOT NULL,              -- running, complete, interrupted, failed
    protocol TEXT NOT NULL,           -- JSON: see `Protocol`
    command TEXT NOT NULL,            -- JSON: the command line
    seed INTEGER NOT NULL,
    deadheat_version TEXT NOT NULL,
    generator_version TEXT NOT NULL,
    writer TEXT NOT NULL,             -- JSON: the process that has to end it
    conclusion TEXT NOT NULL          -- JSON: see `Conclusion`
) STRICT;
CREATE TABLE host (
    run_id TEXT NOT NULL REFERENCES run (id),
    role TEXT NOT NULL,               -- server, load
    cpus TEXT NOT NULL,               -- JSON: the CPUs it was given
    fingerprint TEXT NOT NULL,        -- JSON
    PRIMARY KEY (run_id, role)
) STRICT;
CREATE TABLE build (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    key TEXT NOT NULL,                -- content hash of folder, recipe and toolchains
    built_at TEXT NOT NULL,
    elapsed_s REAL NOT NULL,
    toolchains TEXT NOT NULL,         -- JSON: tool -> version
    files TEXT NOT NULL,              -- JSON: file -> SHA-256, the lock files among them
    log TEXT NOT NULL,
    imported_with TEXT                -- the imported run that it came with
) STRICT;
CREATE UNIQUE INDEX build_once ON build (server, key, ifnull(imported_with, ''));
CREATE TABLE contender (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES run (id),
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    server TEXT NOT NULL,
    setting TEXT NOT NULL,
    label TEXT,                       -- as published
    role TEXT NOT NULL,               -- contender, control
    workers INTEGER NOT NULL,
    threads INTEGER NOT NULL,
    version TEXT,
    manifest TEXT NOT NULL,           -- JSON
    build_id INTEGER REFERENCES build (id),
    fault TEXT,                       -- why it could not take part
    UNIQUE (run_id, name)
) STRICT;
CREATE INDEX contender_by_name ON contender (name);
CREATE INDEX contender_by_build ON contender (build_id);
CREATE TABLE instance (
    id INTEGER PRIMARY KEY,
    contender_id INTEGER NOT NULL REFERENCES contender (id),
    invocation INTEGER NOT NULL,
    at_s REAL NOT NULL,               -- since the run's start
    command TEXT NOT NULL,            -- JSON
    ready_s REAL,
    behavior TEXT,                    -- JSON: how it answers
    steady TEXT,                      -- JSON: how steady state was found
    fault TEXT,
    log_tail TEXT,
    ended TEXT                        -- JSON: how it stopped
) STRICT;
CREATE INDEX instance_by_contender ON instance (contender_id);
CREATE TABLE trial (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES run (id),
    contender_id INTEGER NOT NULL REFERENCES contender (id),
    instance_id INTEGER REFERENCES instance (id),
    kind TEXT NOT NULL,               -- measure, half_load, latency, capacity, recovery
    invocation INTEGER NOT NULL,
    block INTEGER NOT NULL,
    heat INTEGER NOT NULL,            -- 1 unless memory did not hold all contenders at once
    workload TEXT NOT NULL,           -- of the level: controls get hello at each
    connections INTEGER NOT NULL,
    offered_rate_per_s REAL,          -- open loop
    at_s REAL NOT NULL,
    command TEXT NOT NULL,            -- JSON
    state TEXT NOT NULL,              -- ok, failed
    reason TEXT,
    rate_per_s REAL,
    requests_ok INTEGER,
    elapsed_s REAL,
    server_cpu_us_per_request REAL,
    memory_peak_bytes INTEGER,
    processes INTEGER,
    threads INTEGER,
    result TEXT,                      -- JSON: every other figure of the generator's
    stdout BLOB,                      -- zlib
    stderr BLOB                       -- zlib
) STRICT;
CREATE INDEX trial_by_run ON trial (run_id, contender_id, connections);
CREATE TABLE histogram (
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    name TEXT NOT NULL,
    hdr_v2_base64 TEXT NOT NULL,
    PRIMARY KEY (trial_id, name)
) STRICT;
CREATE TABLE series (
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    name TEXT NOT NULL,               -- slices, load, machine, clock_khz, ...
    rows BLOB NOT NULL,               -- zlib of a JSON list
    PRIMARY KEY (trial_id, name)
) STRICT;
CREATE TABLE error (
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    class TEXT NOT NULL,
    requests INTEGER NOT NULL,
    PRIMARY KEY (trial_id, class)
) STRICT;
CREATE TABLE gate (
    trial_id INTEGER NOT NULL REFERENCES trial (id),
    code TEXT NOT NULL,
    passed INTEGER NOT NULL,
    reading REAL,
    threshold REAL,
    unit TEXT,                        -- share, count, us, per_10k
    advice TEXT NOT NULL,
    PRIMARY KEY (trial_id, code)
) STRICT;
CREATE INDEX gate_failed ON gate (trial_id, code) WHERE NOT passed;
CREATE TABLE calibration (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    host_key TEXT NOT NULL,           -- which kind of machine it speaks for
    fingerprint TEXT NOT NULL,
    result TEXT NOT NULL,             -- JSON
    imported_with TEXT                -- the imported run that it came with
) STRICT;
CREATE INDEX calibration_by_host ON calibration (host_key, imported_with, id);
"""


def create(connection: sqlite3.Connection) -> None:
    """Create the tables in an empty file; a store stays as it is.

    Raises `sqlite3.DatabaseError` if the file is not a database, and `ValueError` if it is that of
    another program or of another deadheat.
    """
    if is_store(connection):
        return
    marks = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}"
    connection.executescript(f"BEGIN; {SCHEMA}; {marks}; COMMIT;")


def is_store(connection: sqlite3.Connection) -> bool:
    """False for an empty file. Raises as `create` does."""
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (entries,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application_id == APPLICATION_ID:
        if version != VERSION:
            raise ValueError(f"its schema is {version}, expected {VERSION}")
        return True
    if entries or version or application_id:
        raise ValueError(
            "it is the database of another program, or a store from before the first release"
        )
    return False


def has_our_content(connection: sqlite3.Connection) -> bool:
    """Whether a store has our tables and indexes, and nothing else."""
    with closing(sqlite3.connect(":memory:")) as ours:
        create(ours)
        return set(connection.execute(CONTENT)) == set(ours.execute(CONTENT))
