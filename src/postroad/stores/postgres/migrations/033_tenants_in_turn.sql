-- Tenants are claimed in turn: one with thousands of lanes that are ready does not stand before others.

-- "C": tenants are told apart and skipped over, not shown in order.
alter table lane_level add column tenant text collate "C" not null default '';
update lane_level v set tenant = l.tenant from lane l where l.id = v.lane_id;
create index mailbox_tenant on mailbox (tenant, name);
create index lane_level_turn on lane_level (pool, level, tenant, ready_at, lane_id)
 where ready_at < 4611686018427387904;

-- As before (003), (026) and (004), with the tenant.
create or replace function lower_v1(p_lane bigint[], p_level int[], p_at bigint[]) returns jsonb
language plpgsql set enable_nestloop = off as $$
declare
  v_rings jsonb;
begin
  with lowered as (
    insert into lane_level (lane_id, level, pool, tenant, ready_at)
    select x.lane, x.level, l.pool, l.tenant, greatest(x.at, l.circuit_until, now_ms())
      from unnest(p_lane, p_level, p_at) x(lane, level, at)
     cross join lateral (select pool, tenant, circuit_until from lane
                          where id = x.lane and owner is null and paused_at = 0 limit 1) l
     where x.at < never() order by 1, 2
    on conflict (lane_id, level) do update set ready_at = excluded.ready_at
     where lane_level.ready_at > excluded.ready_at
    returning lane_level.level, lane_level.ready_at),
  soonest as (select level, min(ready_at) as at from lowered group by 1)
  select jsonb_agg(jsonb_build_array(null, 0, 0, level, at, 0)) into v_rings from soonest;
  if v_rings is null then
    return '[]';
  end if;
  perform notify_v1(v_rings);
  return v_rings;
end $$;

create or replace function open_lanes_v1(p_lanes bigint[]) returns jsonb language plpgsql as $$
declare
  v_rings jsonb;
begin
  update lane_level set ready_at = never() where lane_id = any (p_lanes) and ready_at <> never();
  with goal as materialized (
    select l.id, v.level, l.pool, l.tenant,
           greatest(v.at, case when l.paused_at > 0 then never() else l.circuit_until end) as at
      from lane l
     cross join lateral (select least(r.level, 6) as level, min(r.ready_at) as at from rung r
                          where r.lane_id = l.id and r.level >= 0 and r.ready_at < never()
                          group by 1) v
     where l.id = any (p_lanes)),
  opened as (
    insert into lane_level (lane_id, level, pool, tenant, ready_at)
    select id, level, pool, tenant, greatest(at, now_ms()) from goal
    on conflict (lane_id, level) do update set ready_at = excluded.ready_at),
  soonest as (select level, min(at) as at from goal where at < never() group by 1)
  select jsonb_agg(jsonb_build_array(null, 0, 0, level, at, 0)) into v_rings from soonest;
  if v_rings is null then
    return '[]';
  end if;
  perform notify_v1(v_rings);
  return v_rings;
end $$;

create or replace function lane_v1(p_tenant text, p_transport text, p_server text, p_credential text, p_shard int,
                        p_pool text)
returns bigint language plpgsql as $$
declare
  v_lane bigint;
begin
  select id into v_lane from lane
   where tenant = p_tenant and transport = p_transport and server = p_server
     and credential = p_credential and shard = p_shard;
  if v_lane is null then
    insert into lane (tenant, transport, server, credential, shard, pool)
    values (p_tenant, p_transport, p_server, p_credential, p_shard, p_pool) returning id into v_lane;
    insert into lane_level (lane_id, level, pool, tenant, ready_at)
    values (v_lane, 0, p_pool, p_tenant, never());
  end if;
  return v_lane;
end $$;

-- As ready_v1 (026) while less is ready than a claim takes, but for lanes of tenants that are not wanted.
-- Otherwise so many lanes of each tenant after one, by an index that has tenants one behind the other:
-- what it costs does not grow with what one of them has ready. `turn` is a lane's place among those of
-- its tenant. `more`: there are others; `last`: tenants behind this one were not looked at; `oldest`:
-- since when something is ready that may be left, null when nothing can be.
create function ready_v2(p_levels int[], p_floors bigint[], p_pools text[], p_limit int, p_now bigint,
                         p_without text[], p_after text, out hits int, out lane bigint[], out at bigint[],
                         out place tid[], out turn int[], out next jsonb, out more boolean, out last text,
                         out oldest bigint)
language plpgsql set enable_sort = off as $$
declare
  v_found int;
begin
  last := '';
  with ready as materialized (
    select x.* from unnest(p_levels, p_floors) v(level, floor)
     cross join unnest(p_pools) p(pool)
     cross join lateral (select t.lane_id, t.ready_at, t.tenant, t.ctid as row from lane_level t
                          where t.pool = p.pool and t.level = v.level
                            and t.ready_at >= v.floor and t.ready_at <= p_now and t.ready_at < never()
                          order by t.ready_at, t.lane_id limit p_limit) x),
  ranked as (select r.*, min(ready_at) over (partition by lane_id) as soonest,
                    r.tenant <> all (p_without) as wanted from ready r)
  select count(*), count(*) filter (where wanted), min(soonest),
         array_agg(lane_id) filter (where wanted), array_agg(soonest) filter (where wanted),
         array_agg(row) filter (where wanted), array_agg(0) filter (where wanted)
    into v_found, hits, oldest, lane, at, place, turn from ranked;
  more := v_found >= p_limit;
  if more and not several_v1(p_levels, p_pools) then
    more := hits > 0;  -- of the only one: all of them, or none
    oldest := case when hits < v_found then oldest end;
  elsif more then
    select y.* into hits, lane, at, place, turn, more, last
      from by_tenant_v1(p_levels, p_floors, p_pools, p_limit, p_now, p_without, p_after) y;
  elsif hits = v_found then
    oldest := null;
  end if;
  select jsonb_object_agg(v.level, coalesce(
           (select min(n.at) from unnest(p_pools) p(pool)
             cross join lateral (select t.ready_at as at from lane_level t
                                  where t.pool = p.pool and t.level = v.level
                                    and t.ready_at > p_now and t.ready_at < never()
                                  order by t.ready_at limit 1) n), never()))
    into next from unnest(p_levels) v(level);
end $$;

-- Whether lanes of more than one tenant are or will be ready. Most roads have one.
create function several_v1(p_levels int[], p_pools text[]) returns boolean
language plpgsql set enable_sort = off as $$
begin
  return (
    select min(f.tenant) <> max(b.tenant) from unnest(p_levels) v(level) cross join unnest(p_pools) p(pool)
     cross join lateral (select t.tenant from lane_level t
                          where t.pool = p.pool and t.level = v.level and t.ready_at < never()
                          order by t.tenant limit 1) f
     cross join lateral (select t.tenant from lane_level t
                          where t.pool = p.pool and t.level = v.level and t.ready_at < never()
                          order by t.tenant desc limit 1) b);
end $$;

-- The lanes of up to 256 tenants at each level and pool, the longest ready first.
create function by_tenant_v1(p_levels int[], p_floors bigint[], p_pools text[], p_limit int, p_now bigint,
                             p_without text[], p_after text, out hits int, out lane bigint[],
                             out at bigint[], out place tid[], out turn int[], out more boolean,
                             out last text)
language plpgsql set enable_sort = off as $$
declare
  v_level int[];
  v_floor bigint[];
  v_pool text[];
  v_tenant text[];
  v_each int;
begin
  with recursive who as (
    select v.level, v.floor, p.pool, 1 as n,
           (select t.tenant from lane_level t
             where t.pool = p.pool and t.level = v.level and t.tenant > p_after collate "C"
               and t.ready_at < never()
             order by t.tenant limit 1) as tenant
      from unnest(p_levels, p_floors) v(level, floor) cross join unnest(p_pools) p(pool)
    union all
    select w.level, w.floor, w.pool, w.n + 1,
           (select t.tenant from lane_level t
             where t.pool = w.pool and t.level = w.level and t.tenant > w.tenant and t.ready_at < never()
             order by t.tenant limit 1)
      from who w where w.tenant is not null and w.n < 256)
  select array_agg(level), array_agg(floor), array_agg(pool), array_agg(tenant),
         coalesce(min(tenant) filter (where n = 256), '')
    into v_level, v_floor, v_pool, v_tenant, last
    from who where tenant is not null;
  v_each := greatest(8, least(p_limit, 8 * p_limit / greatest(1, coalesce(cardinality(v_tenant), 0))));
  with found as materialized (
    select w.tenant, x.* from unnest(v_level, v_floor, v_pool, v_tenant) w(level, floor, pool, tenant)
     cross join lateral (select t.lane_id, t.ready_at, t.ctid as row,
                                row_number() over () as n from (
                           select l.lane_id, l.ready_at, l.ctid from lane_level l
                            where l.pool = w.pool and l.level = w.level and l.tenant = w.tenant collate "C"
                              and l.ready_at >= w.floor and l.ready_at <= p_now and l.ready_at < never()
                            order by l.ready_at, l.lane_id limit v_each) t) x
     where w.tenant <> all (p_without)),
  ranked as (select f.*, min(ready_at) over (partition by lane_id) as soonest from found f)
  select count(*), array_agg(lane_id), array_agg(soonest), array_agg(row), array_agg(n::int),
         last <> '' or coalesce(max(n), 0) >= v_each or count(*) >= p_limit
    into hits, lane, at, place, turn, more from ranked;
end $$;

-- As own_v1 and claim_v3 (026), with tenants that are not wanted, and the one after which to go on. What
-- was ready and left stays above the floor.
create function own_v2(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int, p_levels int[],
                       p_floors bigint[], p_pools text[], p_limit int, p_without text[],
                       p_after text, out answer jsonb, out lanes json,
                       out taken bigint[])
language plpgsql as $$
declare
  v_now bigint := now_ms();
  v_ready record;
  v_share record;
  v_next jsonb;
  v_left bigint;
  v_floor bigint;
  v_rows tid[];
begin
  select * into v_ready from ready_v2(p_levels, p_floors, p_pools, p_limit, v_now, p_without, p_after);
  select * into v_share
    from share_v1(p_owner, p_reaped, p_mine, p_host, p_pid, p_pools, v_now, v_ready.hits);
  v_next := v_ready.next;
  if v_ready.hits > 0 then
    with ranked as (
      select x.at, x.row, dense_rank() over (order by x.turn, x.at, x.lane) as n
        from unnest(v_ready.lane, v_ready.at, v_ready.place, v_ready.turn) x(lane, at, row, turn)),
    fate as (select r.*, r.n <= p_limit as near,
                    r.n <= v_share.share - p_mine or r.at <= v_now - 1000 as ours from ranked r)
    select min(f.at) filter (where near and not ours), max(f.at) filter (where near),
           coalesce(array_agg(f.row) filter (where near and ours), '{}')
      into v_left, v_floor, v_rows from fate f;
    select t.lanes, t.taken into lanes, taken from take_v2(p_owner, v_rows, p_levels) t;
    if taken is not null then
      perform count_v1(p_owner, p_mine + cardinality(taken));
    end if;
    if v_left is not null then
      v_next := (select jsonb_object_agg(key, least(value::bigint, v_left + 1000))
                   from jsonb_each_text(v_next));
    end if;
  end if;
  answer := jsonb_build_object(
    'next', v_next, 'full', v_ready.more and v_left is null, 'after', v_ready.last,
    'floor', case when v_left is not null or v_ready.oldest is not null then least(v_left, v_ready.oldest)
                  when v_ready.hits < p_limit then v_now
                  else v_floor end,
    'surplus', v_share.surplus,
    'owned', exists (select from process where owning),
    'arrivals', exists (select from arrival));
end $$;

create function claim_v4(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int,
                         p_levels int[], p_floors bigint[], p_pools text[], p_limit int,
                         p_without text[], p_after text)
returns table (id bigint, rung bigint, queue bigint, lane bigint, level int, attempts int, marks int,
               place bigint, due bigint, accepted_at bigint, expires_at bigint, body bytea,
               headers bytea, want int, step int, priority int, slot int, ready bigint, answer json)
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_own record;
  v_now bigint;
  v_rung rung[];
  v_next bigint[];
  v_queues json;
begin
  select * into v_own from own_v2(p_owner, p_reaped, p_mine, p_host, p_pid, p_levels, p_floors, p_pools,
                                  p_limit, p_without, p_after);
  v_now := now_ms();
  if v_own.taken is not null then
    select array_agg(r.row order by x.i, r.ready_at, r.id) into v_rung
      from unnest(v_own.taken) with ordinality x(lane, i)
     cross join lateral (select g as row, g.ready_at, g.id from rung g
                          where g.lane_id = x.lane and g.ready_at <= v_now and g.ready_at < never()
                          order by g.ready_at offset 0) r;
    select array_agg(coalesce((select r.ready_at from rung r
                                where r.lane_id = x.lane and r.ready_at > v_now and r.ready_at < never()
                                order by r.ready_at limit 1), never()) order by x.i)
      into v_next from unnest(v_own.taken) with ordinality x(lane, i);
    v_queues := glance_v1(array(select distinct r.queue_id from unnest(v_rung) r));
  end if;
  return query select null::bigint, null::bigint, null::bigint, null::bigint, null::int, null::int,
    null::int, null::bigint, null::bigint, null::bigint, null::bigint, null::bytea, null::bytea,
    null::int, null::int, null::int, null::int, null::bigint,
    json_build_object('now', v_now, 'claim', v_own.answer, 'lanes', coalesce(v_own.lanes, '[]'),
                      'soon', v_next, 'queues', coalesce(v_queues, '[]'));
  return query
  select m.id, r.id, r.queue_id, r.lane_id, m.level, m.attempts, m.marks, m.place, m.due, m.accepted_at,
         m.expires_at, case when m.due <= v_now and octet_length(m.body) <= 8192 then m.body end,
         case when m.due <= v_now then m.headers end, r.n::int, r.level, r.priority, r.slot, r.ready_at,
         null::json
    from unnest(v_rung) with ordinality r(id, lane_id, queue_id, level, priority, slot, step, ready_at,
                                          blocked_until, held, last_place, n)
    left join lateral (select * from message y
                        where y.rung_id = r.id and r.slot = 0 and r.n <= 512
                        order by y.place, y.id limit 2) m on true;
end $$;

drop function claim_v3;
drop function own_v1;
