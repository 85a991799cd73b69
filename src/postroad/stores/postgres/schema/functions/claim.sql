-- How a process claims lanes that are ready.

-- Own lanes that are ready at these levels, and read what is due in them. The first row has the answer as
-- JSON; then comes a row for each rung that is due, with up to two of its messages in the form of read_messages, so
-- that a lane with one message needs no further reading. `want` is the place of the rung among all rows.
-- Order groups come without messages: their owner reads them, because their heads may change meanwhile.
create or replace function claim(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int,
                                 p_levels int[], p_floors bigint[], p_pools text[], p_limit int,
                                 p_without text[], p_after text)
returns table (id bigint, rung bigint, queue bigint, lane bigint, level int, attempts int, marks int,
               place bigint, due bigint, accepted_at bigint, expires_at bigint, body bytea,
               headers bytea, want int, step int, priority int, order_group int, ready bigint, answer json)
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
  select * into v_own from own_lanes(p_owner, p_reaped, p_mine, p_host, p_pid, p_levels, p_floors, p_pools,
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
    v_queues := queues_brief(array(select distinct r.queue_id from unnest(v_rung) r));
  end if;
  return query select null::bigint, null::bigint, null::bigint, null::bigint, null::int, null::int,
    null::int, null::bigint, null::bigint, null::bigint, null::bigint, null::bytea, null::bytea,
    null::int, null::int, null::int, null::int, null::bigint,
    json_build_object('now', v_now, 'claim', v_own.answer, 'lanes', coalesce(v_own.lanes, '[]'),
                      'soon', v_next, 'queues', coalesce(v_queues, '[]'));
  return query
  select m.id, r.id, r.queue_id, r.lane_id, m.level, m.attempts, m.marks, m.place, m.due, m.accepted_at,
         m.expires_at, case when m.due <= v_now and octet_length(m.body) <= 8192 then m.body end,
         case when m.due <= v_now then m.headers end, r.n::int, r.level, r.priority, r.order_group, r.ready_at,
         null::json
    from unnest(v_rung) with ordinality r(id, lane_id, queue_id, level, priority, order_group, step, ready_at,
                                          blocked_until, held, last_place, n)
    left join lateral (select * from message y
                        where y.rung_id = r.id and r.order_group = 0 and r.n <= 512
                        order by y.place, y.id limit 2) m on true;
end $$;

-- Own those of the ready lanes that are this process's share. Tenants in p_without are passed over; a claim
-- that cannot take all goes on after tenant p_after. Lanes that were ready and are left stay above the
-- floor that the next claim starts from.
create or replace function own_lanes(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int, p_levels int[],
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
  select * into v_ready from ready_lanes(p_levels, p_floors, p_pools, p_limit, v_now, p_without, p_after);
  select * into v_share
    from fair_share(p_owner, p_reaped, p_mine, p_host, p_pid, p_pools, v_now, v_ready.hits);
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
    select t.lanes, t.taken into lanes, taken from take_lanes(p_owner, v_rows, p_levels) t;
    if taken is not null then
      perform note_lane_count(p_owner, p_mine + cardinality(taken));
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
    'arrivals', exists (select from arrival) or exists (select from event_arrival));
end $$;

-- The lanes that are ready at these levels and from when on, where their rows lie, and when the next one of
-- each level is. Only rows that are ready at the level's floor or later are read. While less is ready than a
-- claim takes these are all lanes, less those of p_without. Otherwise they are some of each tenant after
-- p_after, by an index that has tenants one after the other: the cost does not grow with what one tenant
-- has ready. `turn`: a lane's place among those of its tenant. `more`: there are others. `last`: tenants
-- after this one were not looked at. `oldest`: since when something is ready that may be left; null when
-- nothing is left.
create or replace function ready_lanes(p_levels int[], p_floors bigint[], p_pools text[], p_limit int, p_now bigint,
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
  if more and not several_tenants(p_levels, p_pools) then
    more := hits > 0;  -- of the only one: all of them, or none
    oldest := case when hits < v_found then oldest end;
  elsif more then
    select y.* into hits, lane, at, place, turn, more, last
      from ready_by_tenant(p_levels, p_floors, p_pools, p_limit, p_now, p_without, p_after) y;
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

-- Whether lanes of more than one tenant are or will be ready. Most roads have one tenant.
create or replace function several_tenants(p_levels int[], p_pools text[]) returns boolean
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

-- Ready lanes of up to 256 tenants at each level and pool, those that have waited longest first.
create or replace function ready_by_tenant(p_levels int[], p_floors bigint[], p_pools text[], p_limit int, p_now bigint,
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

-- Own the lanes of these lane_level rows, if the rows are still as they were read. A lane that was never in
-- trouble comes without its circuit.
create or replace function take_lanes(p_owner bigint, p_rows tid[], p_levels int[], out lanes json, out taken bigint[])
language plpgsql set enable_bitmapscan = off as $$
declare
  v_hidden bigint[];
begin
  v_hidden := hide_lanes(p_rows, p_levels);
  -- By the index, in order of id: as everybody locks lanes.
  with mine as (
    update lane set owner = p_owner, epoch = epoch + 1 where id = any (v_hidden) and owner is null
    returning *)
  select json_agg(case
           when circuit_strikes = 0 and circuit_since = 0 and crashes = 0 and paused_at = 0
           then json_build_array(id, transport, server, credential, shard, tenant, epoch)
           else json_build_array(
             id, transport, server, credential, shard, tenant, epoch, circuit_strikes, circuit_opened,
             circuit_until, circuit_since, circuit_reason, crashes, paused_at) end order by id),
         array_agg(id order by id)
    into lanes, taken from mine;
end $$;

-- Set the lanes of these lane_level rows to be ready "never", if the rows are still as they were read.
-- From here on the caller has the lanes exclusively.
create or replace function hide_lanes(p_rows tid[], p_levels int[]) returns bigint[]
language plpgsql set enable_bitmapscan = off as $$
declare
  v_low int := (select min(l) from unnest(p_levels) l);
  v_high int := (select max(l) from unnest(p_levels) l);
  v_seen bigint[] := array(select lane_id from lane_level where ctid = any (p_rows));
  v_hidden bigint[];
begin
  perform lock_exclusive(v_seen);
  with hidden as (
    update lane_level set ready_at = never()
     where ctid = any (p_rows) and lane_id = any (v_seen) and ready_at <> never()
    returning lane_id)
  select array_agg(distinct lane_id order by lane_id) into v_hidden from hidden;
  if v_low < v_high then
    update lane_level set ready_at = never() where lane_id = any (v_hidden) and ready_at <> never();
    return v_hidden;
  end if;
  if v_low > 0 then
    update lane_level set ready_at = never()
     where lane_id = any (v_hidden) and level < v_low and ready_at <> never();
  end if;
  if v_high < 6 then
    update lane_level set ready_at = never()
     where lane_id = any (v_hidden) and level > v_high and ready_at <> never();
  end if;
  return v_hidden;
end $$;

-- These queues as JSON arrays; a queue without blocks, pauses and limits comes without those columns.
create or replace function queues_brief(p_queues bigint[]) returns json language plpgsql as $$
declare
  v_paced boolean := exists (select from pace);  -- most roads limit nothing
begin
  return (
    select json_agg(case
             when not v_paced and q.block_kind = '' and q.paused_at = 0 and q.resumed_at = 0
             then json_build_array(q.id, q.tenant, q.name, q.policy)
             else json_build_array(
               q.id, q.tenant, q.name, q.policy, '{}'::bigint[], q.paused_at > 0, q.resumed_at,
               q.block_kind, q.block_until, q.block_reason, q.block_streak, q.block_since,
               case when v_paced then limits_of(q.id) else '[[],[]]' end) end)
      from queue q where q.id = any (p_queues));
end $$;

-- How many lanes are one process's share of those that are owned or found ready, among all processes that
-- asked for lanes of these pools lately. A process that asks for the first time in a while does so under a
-- lock: of two that started in the same moment neither saw the other, and one of them kept all lanes. It also
-- makes the others ask, so that they see what they have above their shares. The process's row is written
-- seldom (everybody who comes later reads over each version), but locked: meanwhile it neither
-- leaves nor is reaped, so every owner of a lane has a row that says so.
create or replace function fair_share(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int,
                                      p_pools text[], p_now bigint, p_found int, out share int, out surplus int)
language plpgsql as $$
declare
  v_known process;
  v_askers int;
begin
  select * into v_known from process where id = p_owner for key share;
  if coalesce(v_known.asked_at, 0) <= p_now - 200000 then
    perform pg_advisory_xact_lock(1383031140, 68);
  end if;
  -- A process that was idle for long may have been forgotten.
  if v_known.id is null or v_known.asked_at <= p_now - 60000 or v_known.pools <> p_pools
     or (p_found > 0 and (not v_known.owning or v_known.beat_at <= p_now - 5000)) then
    insert into process (id, beat_at, asked_at, pools, owning, lanes, reaped, host, pid)
    values (p_owner, p_now, p_now, p_pools, p_found > 0, p_mine, p_reaped, p_host, p_pid)
    on conflict (id) do update set asked_at = excluded.asked_at, pools = excluded.pools,
      owning = process.owning or excluded.owning, lanes = excluded.lanes,
      beat_at = case when p_found > 0 then excluded.beat_at else process.beat_at end;
  end if;
  select count(*), ceil((sum(case when id = p_owner then p_mine else lanes end) + p_found) / count(*)::numeric)
    into v_askers, share from process where asked_at > p_now - 200000 and pools && p_pools;
  surplus := 0;
  if v_askers = 1 then
    share := 1000000;
    return;
  end if;
  -- Only those who could take all of them count here: what nobody takes would come back at once.
  select greatest(0, p_mine - ceil(sum(case when id = p_owner then p_mine else lanes end) / count(*)::numeric))
    into surplus from process where asked_at > p_now - 200000 and pools = p_pools;
  if coalesce(v_known.asked_at, 0) <= p_now - 200000 then
    perform ring(jsonb_build_array(jsonb_build_array(null, 0, 0, 0, p_now, 0)));
  end if;
end $$;
