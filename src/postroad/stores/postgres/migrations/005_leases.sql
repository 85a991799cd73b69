-- Who owns which lane.

-- Own lanes of these pools that are ready at these levels, the longest ready first, and look at
-- them. Who owns a lane is on the disk before anybody hears of it: forgotten in a crash of the server
-- it would be served by two. Of each level
-- only what is ready at its floor or later is walked: behind it lie only the dead index entries of
-- lanes that were claimed before, which an old transaction elsewhere keeps from being removed. The answer gives the next floors. That is safe because
-- rows are written with no earlier time than now, whoever lowers one rings with its time, and a
-- process that hears that goes back behind it; and now and then it asks from 0.
create function claim_v1(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int,
                         p_levels int[], p_floors bigint[], p_pools text[], p_limit int)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_found int;
  v_next jsonb;
  v_lane bigint[];
  v_at bigint[];
  v_row tid[];
  v_share int;
  v_surplus int;
  v_left bigint;
  v_floor bigint;
  v_lanes json := '[]';
  v_taken bigint[];
  v_seen json;
begin
  with ready as materialized (
    select x.* from unnest(p_levels, p_floors) v(level, floor)
     cross join unnest(p_pools) p(pool)
     cross join lateral (select t.lane_id, t.ready_at, t.ctid as row from lane_level t
                          where t.pool = p.pool and t.level = v.level
                            and t.ready_at >= v.floor and t.ready_at <= v_now
                          order by t.ready_at, t.lane_id limit p_limit) x),
  ranked as (select r.*, min(ready_at) over (partition by lane_id) as at from ready r)
  select count(*), array_agg(lane_id), array_agg(at), array_agg(row)
    into v_found, v_lane, v_at, v_row from ranked;
  select jsonb_object_agg(v.level, coalesce(
           (select min(n.at) from unnest(p_pools) p(pool)
             cross join lateral (select t.ready_at as at from lane_level t
                                  where t.pool = p.pool and t.level = v.level
                                    and t.ready_at > v_now and t.ready_at < never()
                                  order by t.ready_at limit 1) n), never()))
    into v_next from unnest(p_levels) v(level);
  select s.share, s.surplus into v_share, v_surplus
    from share_v1(p_owner, p_reaped, p_mine, p_host, p_pid, p_pools, v_now, v_found) s;
  if v_found > 0 then
    -- What is ready for less than a second is left to others where this one has its share.
    with ranked as (
      select x.at, x.row, dense_rank() over (order by x.at, x.lane) as n
        from unnest(v_lane, v_at, v_row) x(lane, at, row)),
    fate as (select r.*, r.n <= p_limit as near,
                    r.n <= v_share - p_mine or r.at <= v_now - 1000 as ours from ranked r)
    select min(at) filter (where near and not ours), max(at) filter (where near),
           coalesce(array_agg(row) filter (where near and ours), '{}')
      into v_left, v_floor, v_row from fate;
    select coalesce(t.lanes, '[]'), t.taken into v_lanes, v_taken from take_v1(p_owner, v_row, p_levels) t;
    if v_taken is not null then
      perform count_v1(p_owner, p_mine + cardinality(v_taken));
      v_seen := look_v1(v_taken, array_fill(-1::bigint, array[cardinality(v_taken)]), '{}', '{}', '{}');
    end if;
    if v_left is not null then
      v_next := (select jsonb_object_agg(key, least(value::bigint, v_left + 1000))
                   from jsonb_each_text(v_next));
    end if;
  end if;
  return json_build_object(
    'now', v_now, 'lanes', v_lanes, 'seen', v_seen, 'next', v_next, 'full', v_found >= p_limit and v_left is null,
    'floor', case when v_left is not null then v_left
                  when v_found < p_limit then v_now
                  else v_floor end,
    'surplus', v_surplus,
    'owned', exists (select from process where owning),
    'arrivals', exists (select from arrival));
end $$;

-- How many lanes are one process's share of those that are owned or found ready, among all that
-- asked for lanes of these pools of late. A newcomer makes the others ask, so that they see what
-- they have above their shares. The process's own row is written seldom (each version of it is
-- walked over by all who come after), but locked: it neither leaves nor is reaped meanwhile, so
-- that whoever owns a lane has a row that says so.
create function share_v1(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int, p_pools text[],
                         p_now bigint, p_found int, out share int, out surplus int)
language plpgsql as $$
declare
  v_known process;
  v_askers int;
begin
  select * into v_known from process where id = p_owner for key share;
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
    perform notify_v1(jsonb_build_array(jsonb_build_array(null, 0, 0, 0, p_now, 0)));
  end if;
end $$;

-- Tell the others, if there are any, how many lanes a process has.
create function count_v1(p_owner bigint, p_lanes int) returns void language plpgsql as $$
begin
  update process p set lanes = greatest(0, p_lanes)
   where p.id = p_owner
     and exists (select from process o where o.id <> p_owner and o.asked_at > now_ms() - 200000);
end $$;

-- Own the lanes of these lane_level rows, if they are still as they were seen: a lane whose row is
-- ready is nobody's. Rows are taken by where they lie, not by key: beside an old transaction a key
-- leads over all dead versions of its row.
create function take_v1(p_owner bigint, p_rows tid[], p_levels int[], out lanes json, out taken bigint[])
language plpgsql set enable_bitmapscan = off as $$
declare
  v_low int := (select min(l) from unnest(p_levels) l);
  v_high int := (select max(l) from unnest(p_levels) l);
  v_seen bigint[] := array(select lane_id from lane_level where ctid = any (p_rows));
  v_hidden bigint[];
begin
  perform lock_alone_v1(v_seen);
  with hidden as (
    update lane_level set ready_at = never()
     where ctid = any (p_rows) and lane_id = any (v_seen) and ready_at < never()
    returning lane_id)
  select array_agg(distinct lane_id order by lane_id) into v_hidden from hidden;
  if v_hidden is null then
    return;
  end if;
  if v_low > 0 then
    update lane_level set ready_at = never()
     where lane_id = any (v_hidden) and level < v_low and ready_at < never();
  end if;
  if v_high < 6 then
    update lane_level set ready_at = never()
     where lane_id = any (v_hidden) and level > v_high and ready_at < never();
  end if;
  if v_low < v_high then
    update lane_level set ready_at = never()
     where lane_id = any (v_hidden) and level between v_low and v_high and ready_at < never();
  end if;
  -- By the index, in order of id: as everybody locks lanes.
  with mine as (
    update lane set owner = p_owner, epoch = epoch + 1 where id = any (v_hidden) and owner is null
    returning *)
  select json_agg(json_build_array(
           id, transport, server, credential, shard, tenant, epoch, circuit_strikes, circuit_opened,
           circuit_until, circuit_since, circuit_reason, crashes, paused_at) order by id),
         array_agg(id order by id)
    into lanes, taken from mine;
end $$;

-- Give lanes back, each ready when its first rung is; so many are left.
create function release_v1(p_owner bigint, p_lane bigint[], p_epoch bigint[], p_left int) returns json
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_mine bigint[];
begin
  perform lock_alone_v1(p_lane);
  perform from lane where id = any (p_lane) order by id for no key update;
  select array_agg(x.lane) into v_mine from unnest(p_lane, p_epoch) x(lane, epoch)
   where (select l.owner = p_owner and l.epoch = x.epoch from lane l where l.id = x.lane);
  perform from rung where lane_id = any (v_mine) and ready_at <= v_now order by id for no key update;
  update rung r
     set ready_at = greatest(r.blocked_until,
                             coalesce((select m.due from message m where m.rung_id = r.id
                                        order by m.place, m.id limit 1), never()))
   where r.lane_id = any (v_mine) and r.ready_at <= v_now;
  update lane set owner = null, crashes = 0 where id = any (v_mine);
  if p_left = 0 then
    perform rest_v1(p_owner);
  else
    perform count_v1(p_owner, p_left);
  end if;
  return json_build_object('now', v_now, 'rings', open_lanes_v1(v_mine));
end $$;

-- A process without lanes need not be watched. One whose row is locked is about to claim some.
create function rest_v1(p_owner bigint) returns void language plpgsql as $$
begin
  perform from process where id = p_owner for update skip locked;
  if found and not exists (select from lane where owner = p_owner) then
    update process set owning = false, lanes = 0 where id = p_owner;
  end if;
end $$;

-- All lanes of an owner but these are free, without a lost lease.
create function disown_v1(p_owner bigint, p_keep bigint[]) returns json language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
declare
  v_mine bigint[];
begin
  perform lock_alone_v1(array(select id from lane where owner = p_owner and id <> all (p_keep)));
  select array_agg(x.id) into v_mine from (
    select id from lane where owner = p_owner and id <> all (p_keep) order by id for no key update) x;
  update lane set owner = null, crashes = 0 where id = any (v_mine);
  return json_build_object('now', now_ms(), 'rings', open_lanes_v1(v_mine));
end $$;

-- The row first: a claim that is under way has it locked, and then its lanes are seen here.
create function leave_v1(p_owner bigint) returns json language plpgsql
set search_path = postroad, pg_temp as $$
begin
  delete from process where id = p_owner;
  return disown_v1(p_owner, '{}');
end $$;

-- Free the lanes of owners that were not heard from; each has lost a lease.
create function reap_v1(p_dead_after bigint) returns json language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
declare
  v_before bigint := now_ms() - p_dead_after;
  v_owner bigint;
  v_lanes bigint[];
  v_lost int := 0;
  v_rings jsonb := '[]';
begin
  for v_owner in select id from process where owning and beat_at <= v_before order by id loop
    -- Its own beat waits for us from here on; one whose row is locked is about to give one.
    perform from process where id = v_owner and owning and beat_at <= v_before
      for update skip locked;
    continue when not found;
    v_lanes := array(select id from lane where owner = v_owner);
    perform lock_alone_v1(v_lanes);
    select coalesce(array_agg(x.id), '{}') into v_lanes from (
      select id from lane where id = any (v_lanes) and owner = v_owner order by id for no key update) x;
    update process
       set reaped = reaped + (cardinality(v_lanes) > 0)::int, owning = false, lanes = 0,
           asked_at = case when cardinality(v_lanes) > 0 then 0 else asked_at end
     where id = v_owner;
    update lane set owner = null, crashes = crashes + 1 where id = any (v_lanes);
    v_rings := v_rings || open_lanes_v1(v_lanes);
    v_lost := v_lost + cardinality(v_lanes);
  end loop;
  return json_build_object('now', now_ms(), 'lost', v_lost, 'rings', v_rings,
                           'owned', exists (select from process where owning));
end $$;

-- Note what is about to start, if the lane is still the owner's.
create function mark_v1(p_owner bigint, p_lane bigint, p_epoch bigint, p_ids bigint[]) returns boolean
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
begin
  perform from lane where id = p_lane and owner = p_owner and epoch = p_epoch for share;
  if not found then
    return false;
  end if;
  update message set marks = marks + 1 where id = any (p_ids);
  return true;
end $$;

-- A process with so many lanes says that it is still here.
create function beat_v1(p_owner bigint, p_lanes int) returns json language plpgsql
set search_path = postroad, pg_temp as $$
declare
  v_now bigint := now_ms();
  v_reaped int;
begin
  perform set_config('synchronous_commit', 'off', true);
  update process set beat_at = v_now, lanes = p_lanes where id = p_owner returning reaped into v_reaped;
  return json_build_object('now', v_now, 'reaped', v_reaped);
end $$;
