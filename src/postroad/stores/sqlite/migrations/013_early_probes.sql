-- From when on new traffic may have a probe of a lane whose circuit is open.
alter table lane add column circuit_early integer not null default 4611686018427387904;
