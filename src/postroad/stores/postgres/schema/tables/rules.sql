-- Answer rules: what certain answers of certain servers do.

-- tenant: '*' is for all of them. changed: grows with each change of any rule, by which processes see one.
create table answer_rule (
  tenant  text not null,
  name    text not null,
  rule    text not null,   -- JSON
  changed bigint not null,
  primary key (tenant, name)
);
create index answer_rule_changed on answer_rule (changed);

-- When a rule that needs several answers of a lane was met last, the newest first.
create table rule_hit (
  rule    text not null,   -- tenant/name
  lane_id bigint not null,
  times   text not null,   -- JSON
  ends    bigint not null,
  primary key (rule, lane_id)
) with (fillfactor = 50);
create index rule_hit_ends on rule_hit (ends);
