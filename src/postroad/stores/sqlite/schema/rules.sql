-- Answer rules: what certain answers of certain servers do.

-- tenant: '*' is for all of them. changed: grows with each change of any rule, by which processes see one.
create table answer_rule (
  tenant  text not null,
  name    text not null,
  rule    text not null,   -- JSON
  changed integer not null,
  primary key (tenant, name)
) strict, without rowid;
create index answer_rule_changed on answer_rule (changed);

-- When a rule that needs several answers of a lane was met last, the newest first.
create table rule_hit (
  rule    text not null,   -- tenant/name
  lane_id integer not null,
  times   text not null,   -- JSON
  ends    integer not null,
  primary key (rule, lane_id)
) strict, without rowid;
create index rule_hit_ends on rule_hit (ends);
