-- Figures of the road.

-- Counts of a bucket of 10 s, by tenant and family, or of an hour, by queue as well: tries by outcome (setup: not
-- made, something is missing here), messages that died, and first tries by lateness: late0 under 1 ms, late1 under
-- 2 ms, and so on by powers of two.
create table rollup (
  step   integer not null check (step in (10, 3600)),
  at     integer not null,
  tenant text not null,
  family text not null,
  queue  text not null,
  delivered integer not null, failed integer not null, rejected integer not null, quota integer not
  null, unreachable integer not null, unknown integer not null, later integer not null, setup integer
  not null, dead integer not null, late0 integer not null, late1 integer not null, late2 integer not
  null, late3 integer
  not null, late4 integer not null, late5 integer not null, late6 integer not null, late7 integer
  not null, late8 integer not null, late9 integer not null, late10 integer not null, late11 integer
  not null, late12 integer not null, late13 integer not null, late14 integer not null, late15
  integer not null, late16 integer not null, late17 integer not null, late18 integer not null,
  late19 integer not null, late20 integer not null, late21 integer not null, late22 integer not
  null, late23 integer not null,
  primary key (step, at, tenant, family, queue)
) strict, without rowid;
create index rollup_tenant on rollup (tenant);
