-- Lanes are claimed tenant by tenant in turn where more are ready than a claim takes.
alter table lane_level add column tenant text not null default '';
update lane_level set tenant = (select l.tenant from lane l where l.id = lane_id);
-- What is ready "never" is in no index: to hide a lane writes no entry.
drop index lane_level_ready;
create index lane_level_ready on lane_level (pool, level, ready_at, lane_id, tenant)
 where ready_at < 4611686018427387904;
create index mailbox_tenant on mailbox (tenant, name);
create index lane_level_turn on lane_level (pool, level, tenant, ready_at, lane_id)
 where ready_at < 4611686018427387904;
