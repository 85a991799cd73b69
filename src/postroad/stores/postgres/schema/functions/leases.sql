-- Owning lanes: heartbeats, giving lanes back, taking them from owners that are silent.

-- The heartbeat of a process that owns so many lanes.
create or replace function beat(p_owner bigint, p_lanes int) returns json language plpgsql
set search_path = postroad, pg_temp as $$
declare
  v_now bigint := now_ms();
  v_reaped int;
begin
  perform set_config('synchronous_commit', 'off', true);
  update process set beat_at = v_now, lanes = p_lanes where id = p_owner returning reaped into v_reaped;
  return json_build_object('now', v_now, 'reaped', v_reaped);
end $$;

-- Note how many lanes a process owns, if there are other processes that want to know.
create or replace function note_lane_count(p_owner bigint, p_lanes int) returns void language plpgsql as $$
begin
  update process p set lanes = greatest(0, p_lanes)
   where p.id = p_owner
     and exists (select from process o where o.id <> p_owner and o.asked_at > now_ms() - 200000);
end $$;

-- Give lanes back, each ready when its first rung is; `p_left` is how many the owner keeps. Lanes and
-- rungs are locked by the statements that update them, by their indexes, in order of id. (`is true` keeps the
-- update from becoming a join, which might go in another order. The order of rungs does not matter here:
-- the caller has their lanes exclusively.) Only lanes that still have something are opened: an owned lane is
-- ready at no level, so one that rests stays as it is.
create or replace function release(p_owner bigint, p_lane bigint[], p_epoch bigint[], p_left int) returns json
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_mine bigint[];
  v_ready bigint[];
  v_awake bigint[];
begin
  perform lock_exclusive(p_lane);
  with freed as (
    update lane l set owner = null, crashes = 0
     where l.id = any (p_lane) and l.owner = p_owner
       and ((l.id, l.epoch) in (select x.lane, x.epoch from unnest(p_lane, p_epoch) x(lane, epoch))) is true
    returning l.id)
  select array_agg(id) into v_mine from freed;
  v_ready := array(select r.id from unnest(v_mine) x(lane)
                    cross join lateral (select g.id from rung g
                                         where g.lane_id = x.lane and g.ready_at <= v_now and g.ready_at < never()
                                         order by g.ready_at offset 0) r);
  -- By the primary key: in order of id.
  update rung r
     set ready_at = greatest(r.blocked_until,
                             coalesce((select m.due from message m where m.rung_id = r.id
                                        order by m.place, m.id limit 1), never()))
   where r.id = any (v_ready) and r.ready_at <> never();
  -- Lane by lane (a semi-join might walk over all that is ready).
  v_awake := array(select x.lane from unnest(v_mine) x(lane)
                    cross join lateral (select from rung g where g.lane_id = x.lane and g.ready_at < never()
                                         limit 1) r);
  if p_left = 0 then
    perform stop_watching(p_owner);
  else
    perform note_lane_count(p_owner, p_left);
  end if;
  return json_build_object('now', v_now, 'rings',
    case when cardinality(v_awake) > 0 then open_lanes(v_awake) else '[]' end);
end $$;

-- A process without lanes need not be watched. One whose row is locked is about to claim some.
create or replace function stop_watching(p_owner bigint) returns void language plpgsql as $$
begin
  perform from process where id = p_owner for update skip locked;
  if found and not exists (select from lane where owner = p_owner) then
    update process set owning = false, lanes = 0 where id = p_owner;
  end if;
end $$;

-- Free all lanes of an owner but these; no lease counts as lost.
create or replace function disown(p_owner bigint, p_keep bigint[]) returns json language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
declare
  v_mine bigint[];
begin
  perform lock_exclusive(array(select id from lane where owner = p_owner and id <> all (p_keep)));
  select array_agg(x.id) into v_mine from (
    select id from lane where owner = p_owner and id <> all (p_keep) order by id for no key update) x;
  update lane set owner = null, crashes = 0 where id = any (v_mine);
  return json_build_object('now', now_ms(), 'rings', open_lanes(v_mine));
end $$;

-- The row goes first: a claim that is under way has it locked, and its lanes are seen here afterwards.
create or replace function leave(p_owner bigint) returns json language plpgsql
set search_path = postroad, pg_temp as $$
begin
  delete from process where id = p_owner;
  return disown(p_owner, '{}');
end $$;

-- Free the lanes of owners that were silent for too long; each lane has lost a lease. What an owner was asked
-- to cancel is cancelled first, 500 at a time: `wishes` tells the caller to come again.
create or replace function reap(p_dead_after bigint) returns json language plpgsql
set search_path = postroad, pg_temp set jit = off as $$
declare
  v_before bigint := now_ms() - p_dead_after;
  v_owner bigint;
  v_lanes bigint[];
  v_unwanted bigint[];
  v_lost jsonb := '[]';
  v_wishes int := 0;
  v_rings jsonb := '[]';
begin
  for v_owner in select id from process where owning and beat_at <= v_before order by id loop
    -- Its own beat waits for us from here on; one whose row is locked is about to give one.
    perform from process where id = v_owner and owning and beat_at <= v_before
      for update skip locked;
    continue when not found;
    v_lanes := array(select id from lane where owner = v_owner);
    perform lock_exclusive(v_lanes);
    select coalesce(array_agg(x.id), '{}') into v_lanes from (
      select id from lane where id = any (v_lanes) and owner = v_owner order by id for no key update) x;
    v_unwanted := array(
      select m.id from message m
       where m.unwanted = 1 and (select r.lane_id from rung r where r.id = m.rung_id) = any (v_lanes)
       limit 500);
    if cardinality(v_unwanted) > 0 then
      v_rings := v_rings || bury(v_unwanted, null, now_ms());
      v_wishes := v_wishes + cardinality(v_unwanted);
      continue;
    end if;
    update process
       set reaped = reaped + (cardinality(v_lanes) > 0)::int, owning = false, lanes = 0,
           asked_at = case when cardinality(v_lanes) > 0 then 0 else asked_at end
     where id = v_owner;
    update lane set owner = null, crashes = crashes + 1 where id = any (v_lanes);
    v_rings := v_rings || open_lanes(v_lanes);
    if cardinality(v_lanes) > 0 then
      v_lost := v_lost || (select jsonb_build_object('host', p.host, 'pid', p.pid, 'lanes', cardinality(v_lanes))
                             from process p where p.id = v_owner);
    end if;
  end loop;
  return json_build_object('now', now_ms(), 'lost', v_lost, 'rings', v_rings, 'wishes', v_wishes,
                           'owned', exists (select from process where owning));
end $$;

-- Note that these messages are about to be tried, if the lane is still the owner's.
create or replace function mark(p_owner bigint, p_lane bigint, p_epoch bigint, p_ids bigint[]) returns boolean
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
