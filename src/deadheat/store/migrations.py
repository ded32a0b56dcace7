"""The store's schema, as numbered steps. A step that has been released is never changed."""

import sqlite3
from contextlib import closing

MIGRATIONS: tuple[str, ...] = (
    # 1: runs and what they hold
    """
    CREATE TABLE run (
        id TEXT PRIMARY KEY,              -- 20261120-130405-a1b2
        started_at TEXT NOT NULL,         -- UTC, ISO 8601
        ended_at TEXT,
        state TEXT NOT NULL,              -- running, complete, interrupted, failed
        protocol TEXT NOT NULL,           -- JSON, as run: the file's values and the flags' changes
        command TEXT NOT NULL,            -- JSON: the command line
        seed INTEGER NOT NULL,
        deadheat_version TEXT NOT NULL,
        generator_version TEXT NOT NULL,
        writer TEXT NOT NULL,             -- JSON: the process that has to end it
        conclusion TEXT                   -- JSON: why it stopped
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
        UNIQUE (server, key)
    ) STRICT;
    CREATE TABLE contender (
        id INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL REFERENCES run (id),
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        server TEXT NOT NULL,
        setting TEXT NOT NULL,
        label TEXT,                       -- as published
        role TEXT NOT NULL,               -- rival, canary
        workers INTEGER NOT NULL,
        threads INTEGER NOT NULL,
        version TEXT,
        manifest TEXT NOT NULL,           -- JSON
        build_id INTEGER REFERENCES build (id),
        fault TEXT,                       -- why it could not take part
        UNIQUE (run_id, name)
    ) STRICT;
    CREATE TABLE start (
        id INTEGER PRIMARY KEY,
        contender_id INTEGER NOT NULL REFERENCES contender (id),
        invocation INTEGER NOT NULL,
        at_s REAL NOT NULL,               -- since the run's start
        command TEXT NOT NULL,            -- JSON
        ready_s REAL,
        card TEXT,                        -- JSON: the behaviour card
        steady TEXT,                      -- JSON: how steady state was found
        fault TEXT,
        log_tail TEXT,
        ended TEXT                        -- JSON: how it stopped
    ) STRICT;
    CREATE TABLE trial (
        id INTEGER PRIMARY KEY,
        run_id TEXT NOT NULL REFERENCES run (id),
        contender_id INTEGER NOT NULL REFERENCES contender (id),
        start_id INTEGER REFERENCES start (id),
        kind TEXT NOT NULL,               -- measure, latency, capacity
        invocation INTEGER NOT NULL,
        block INTEGER NOT NULL,
        heat INTEGER NOT NULL,            -- 1 unless memory did not hold all contenders at once
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
        name TEXT NOT NULL,               -- load, machine, clock_khz
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
    CREATE TABLE calibration (
        id INTEGER PRIMARY KEY,
        at TEXT NOT NULL,
        host_key TEXT NOT NULL,           -- which kind of machine it speaks for
        fingerprint TEXT NOT NULL,
        result TEXT NOT NULL              -- JSON
    ) STRICT;
    """,
    # 2: the glossary's words: instance, behavior, contender, control, neighbor
    """
    ALTER TABLE start RENAME TO instance;
    ALTER TABLE instance RENAME COLUMN card TO behavior;
    ALTER TABLE trial RENAME COLUMN start_id TO instance_id;
    UPDATE contender SET role = 'contender' WHERE role = 'rival';
    UPDATE contender SET role = 'control' WHERE role = 'canary';
    UPDATE gate SET code = 'neighbor' WHERE code = 'neighbour';
    UPDATE instance SET behavior = replace(behavior, '"close_honoured"', '"close_honored"');
    UPDATE run SET protocol = replace(protocol, '"canary"', '"controls"');
    """,
    # 3: indexes for reading one run, and one contender over all runs, of a large store
    """
    CREATE INDEX instance_by_contender ON instance (contender_id);
    CREATE INDEX contender_by_name ON contender (name);
    CREATE INDEX gate_failed ON gate (trial_id, code) WHERE NOT passed;
    """,
    # 4: one name per gate in the campaign and the engine
    """
    UPDATE gate SET code = 'client_resources' WHERE code = 'client_limits';
    """,
    # 5: builds and calibrations of an imported run are its own, never those of this machine
    """
    CREATE TABLE build_5 (
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
    INSERT INTO build_5 SELECT *, NULL FROM build;
    DROP TABLE build;
    ALTER TABLE build_5 RENAME TO build;
    CREATE UNIQUE INDEX build_once ON build (server, key, ifnull(imported_with, ''));
    CREATE INDEX contender_by_build ON contender (build_id);
    ALTER TABLE calibration ADD COLUMN imported_with TEXT;
    CREATE INDEX calibration_by_host ON calibration (host_key, imported_with, id);
    CREATE TEMP VIEW foreign_run AS
        SELECT id FROM main.run WHERE json_extract(conclusion, '$.imported') IS NOT NULL;
    INSERT INTO calibration (at, host_key, fingerprint, result, imported_with)
        SELECT at, host_key, fingerprint, result, foreign_run.id FROM foreign_run, calibration
        WHERE calibration.id IN (SELECT max(id) FROM calibration GROUP BY host_key);
    UPDATE build SET imported_with = (
        SELECT min(run_id) FROM contender WHERE build_id = build.id
    ) WHERE id IN (SELECT build_id FROM contender WHERE run_id IN foreign_run) AND id NOT IN (
        SELECT build_id FROM contender WHERE run_id NOT IN foreign_run AND build_id IS NOT NULL
    );
    DROP VIEW foreign_run;
    """,
    # 6: a level is a workload and a number of connections
    """
    ALTER TABLE trial ADD COLUMN workload TEXT NOT NULL DEFAULT 'hello';
    UPDATE trial SET workload = (
        SELECT json_extract(protocol, '$.workload.name') FROM run WHERE run.id = run_id
    ) WHERE run_id IN (
        SELECT id FROM run WHERE iif(json_valid(protocol),
            json_type(protocol, '$.workload.name') = 'text', 0)
    );
    """,
)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a store up to date. Each missing step runs in a transaction that also sets its number.

    Foreign keys must not be enforced on the connection: a step may replace a table that others
    refer to. Raises `sqlite3.DatabaseError` if the file is not a database, and `ValueError` if it
    is that of another program or of a newer deadheat.
    """
    version = schema_version(connection)
    if version > len(MIGRATIONS):
        raise ValueError(f"its schema is {version}; this deadheat knows up to {len(MIGRATIONS)}")
    for number, script in enumerate(MIGRATIONS[version:], start=version + 1):
        connection.executescript(f"BEGIN; {script}; PRAGMA user_version = {number}; COMMIT;")


def schema_version(connection: sqlite3.Connection) -> int:
    """The number of a store's last step. Raises `ValueError` for another program's database."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if (tables or version) and "trial" not in tables:
        raise ValueError("it is the database of another program")
    return int(version)


def schema_at(version: int) -> set[tuple[str, str, str]]:
    """Type, name and SQL of everything in an empty store at a schema version."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for script in MIGRATIONS[:version]:
            connection.executescript(script)
        return set(
            connection.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL")
        )
