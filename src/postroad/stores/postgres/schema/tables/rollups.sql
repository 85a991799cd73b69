-- Figures of the whole fleet.

-- Counts of a bucket of 10 s, by tenant and family, or of an hour, by queue as well: tries by outcome (setup: not
-- made, something is missing here), messages that died, and first tries by lateness: late0 under 1 ms, late1 under
-- 2 ms, and so on by powers of two.
create table rollup (
  step   int not null check (step in (10, 3600)),
  at     bigint not null,
  tenant text not null,
  family text not null,
  queue  text not null,
  delivered bigint not null, failed bigint not null, rejected bigint not null, quota bigint not
  null, unreachable bigint not null, unknown bigint not null, later bigint not null, setup bigint not
  null, dead bigint not null, late0 bigint not null, late1 bigint not null, late2 bigint not null,
  late3 bigint not null,
  late4 bigint not null, late5 bigint not null, late6 bigint not null, late7 bigint not null, late8
  bigint not null, late9 bigint not null, late10 bigint not null, late11 bigint not null, late12
  bigint not null, late13 bigint not null, late14 bigint not null, late15 bigint not null, late16
  bigint not null, late17 bigint not null, late18 bigint not null, late19 bigint not null, late20
  bigint not null, late21 bigint not null, late22 bigint not null, late23 bigint not null,
  primary key (step, at, tenant, family, queue)
) with (fillfactor = 70);
create index rollup_tenant on rollup (tenant);
