-- Who owns which lane.

-- Own lanes of these pools that are ready at these levels, the longest ready first.
create function claim_v1(p_owner bigint, p_reaped int, p_host text, p_pid int, p_levels int[],
                         p_pools text[], p_limit int)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_found int;
  v_next jsonb;
  v_ready bigint[];
  v_at bigint[];
  v_share int;
  v_mine int;
  v_left bigint;
  v_lanes json := '[]';
begin
  perform set_config('synchronous_commit', 'off', true);
  with ready as materialized (
    select x.lane_id, x.ready_at from unnest(p_levels) v(level) cross join unnest(p_pools) p(pool)
     cross join lateral (select t.lane_id, t.ready_at from lane_level t
                          where t.pool = p.pool and t.level = v.level and t.ready_at <= v_now
                          order by t.ready_at, t.lane_id limit p_limit) x),
  longest as (select lane_id, min(ready_at) as at from ready group by 1 order by 2, 1 limit p_limit)
  select (select count(*) from ready), array_agg(lane_id order by at, lane_id),
         array_agg(at order by at, lane_id)
    into v_found, v_ready, v_at from longest;
  select jsonb_object_agg(v.level, coalesce(
           (select min(n.at) from unnest(p_pools) p(pool)
             cross join lateral (select t.ready_at as at from lane_level t
                                  where t.pool = p.pool and t.level = v.level and t.ready_at > v_now
                                  order by t.ready_at limit 1) n), never()))
    into v_next from unnest(p_levels) v(level);
  select s.share, s.mine into v_share, v_mine
    from share_v1(p_owner, p_reaped, p_host, p_pid, p_pools, v_now, v_found) s;
  if v_ready is not null then
    -- What is ready for less than a second is left to others where this one has its share.
    v_left := (select min(x.at) + 1000 from unnest(v_at) with ordinality x(at, n)
                where x.n > v_share - v_mine and x.at > v_now - 1000);
    v_ready := array(select x.lane from unnest(v_ready, v_at) with ordinality x(lane, at, n)
                      where x.n <= v_share - v_mine or x.at <= v_now - 1000 order by x.n);
    v_lanes := take_v1(p_owner, v_ready, v_now);
    if v_left is not null then
      v_next := (select jsonb_object_agg(key, least(value::bigint, v_left)) from jsonb_each_text(v_next));
    end if;
  end if;
  return json_build_object(
    'now', v_now, 'lanes', v_lanes, 'next', v_next, 'full', v_found >= p_limit and v_left is null,
    'surplus', greatest(0, v_mine - v_share),
    'owned', exists (select from lane where owner is not null),
    'arrivals', exists (select from arrival));
end $$;

-- How many lanes are one process's share of those that are owned or found ready, among all that
-- asked for lanes of these pools of late; and how many it has. A newcomer makes the others ask, so
-- that they see what they have above their shares.
create function share_v1(p_owner bigint, p_reaped int, p_host text, p_pid int, p_pools text[], p_now bigint,
                         p_found int, out share int, out mine int)
language plpgsql as $$
declare
  v_asked bigint;
  v_askers int;
begin
  select asked_at into v_asked from process where id = p_owner;
  -- A process that was idle for long may have been forgotten.
  insert into process (id, beat_at, asked_at, pools, reaped, host, pid)
  values (p_owner, p_now, p_now, p_pools, p_reaped, p_host, p_pid)
  on conflict (id) do update set asked_at = excluded.asked_at, pools = excluded.pools,
    beat_at = case when p_found > 0 then excluded.beat_at else process.beat_at end;
  select count(*) into v_askers from process where asked_at > p_now - 200000 and pools && p_pools;
  mine := 0;
  share := 1000000;
  if v_askers > 1 then
    select count(*) filter (where owner = p_owner), ceil((count(*) + p_found) / v_askers::numeric)
      into mine, share from lane where owner is not null;
    if coalesce(v_asked, 0) <= p_now - 200000 then
      perform notify_v1(jsonb_build_array(jsonb_build_array(null, 0, 0, 0, p_now, 0)));
    end if;
  end if;
end $$;

create function take_v1(p_owner bigint, p_ready bigint[], p_now bigint) returns json language plpgsql as $$
declare
  v_taken bigint[];
  v_lanes json;
begin
  if cardinality(p_ready) = 0 then
    return '[]';
  end if;
  perform lock_alone_v1(p_ready);
  select array_agg(x.id) into v_taken from (
    select l.id from lane l
     where l.id = any (p_ready) and l.owner is null
       and exists (select from lane_level t where t.lane_id = l.id and t.ready_at <= p_now)
     order by l.id for no key update of l) x;
  if v_taken is null then
    return '[]';
  end if;
  update lane_level set ready_at = never() where lane_id = any (v_taken) and ready_at < never();
  with mine as (update lane set owner = p_owner, epoch = epoch + 1 where id = any (v_taken) returning *)
  select json_agg(json_build_object(
           'id', id, 'epoch', epoch, 'crashes', crashes, 'paused', paused_at > 0,
           'key', json_build_object('transport', transport, 'server', server,
                                    'credential', credential, 'shard', shard, 'tenant', tenant),
           'circuit', json_build_object('strikes', circuit_strikes, 'opened', circuit_opened,
                                        'until_ms', circuit_until, 'since_ms', circuit_since,
                                        'reason', circuit_reason))
         order by array_position(p_ready, id))
    into v_lanes from mine;
  return v_lanes;
end $$;

-- Give lanes back, each ready when its first rung is.
create function release_v1(p_owner bigint, p_lane bigint[], p_epoch bigint[]) returns json
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_mine bigint[];
begin
  perform set_config('synchronous_commit', 'off', true);
  perform lock_alone_v1(p_lane);
  select array_agg(x.id) into v_mine from (
    select l.id from lane l
     where l.id = any (p_lane) and l.owner = p_owner
       and l.epoch = p_epoch[array_position(p_lane, l.id)]
     order by l.id for no key update) x;
  perform from rung where lane_id = any (v_mine) and ready_at <= v_now order by id for no key update;
  update rung r
     set ready_at = greatest(r.blocked_until,
                             coalesce((select m.due from message m where m.rung_id = r.id
                                        order by m.place, m.id limit 1), never()))
   where r.lane_id = any (v_mine) and r.ready_at <= v_now;
  update lane set owner = null, crashes = 0 where id = any (v_mine);
  return json_build_object('now', v_now, 'rings', open_lanes_v1(v_mine));
end $$;

-- All lanes of an owner but these are free, without a lost lease.
create function disown_v1(p_owner bigint, p_keep bigint[]) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_mine bigint[];
begin
  perform set_config('synchronous_commit', 'off', true);
  perform lock_alone_v1(array(select id from lane where owner = p_owner and id <> all (p_keep)));
  select array_agg(x.id) into v_mine from (
    select id from lane where owner = p_owner and id <> all (p_keep) order by id for no key update) x;
  update lane set owner = null, crashes = 0 where id = any (v_mine);
  return json_build_object('now', now_ms(), 'rings', open_lanes_v1(v_mine));
end $$;

create function leave_v1(p_owner bigint) returns json language plpgsql
set search_path = postroad, pg_temp as $$
declare
  v_answer json := disown_v1(p_owner, '{}');
begin
  delete from process where id = p_owner;
  return v_answer;
end $$;

-- Free the lanes of owners that were not heard from; each has lost a lease.
create function reap_v1(p_dead_after bigint) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_before bigint := now_ms() - p_dead_after;
  v_owner bigint;
  v_lanes bigint[];
  v_lost int := 0;
  v_rings jsonb := '[]';
begin
  perform set_config('synchronous_commit', 'off', true);
  for v_owner in
    with recursive owners as (  -- from one owner to the next: a fleet owns many lanes
      (select owner from lane where owner is not null order by owner limit 1)
      union all
      select (select l.owner from lane l where l.owner > o.owner order by l.owner limit 1)
        from owners o where o.owner is not null)
    select o.owner from owners o
     where o.owner is not null
       and coalesce((select p.beat_at from process p where p.id = o.owner), 0) <= v_before
  loop
    v_lanes := array(select id from lane where owner = v_owner);
    perform lock_alone_v1(v_lanes);
    -- Its own beat may have come meanwhile; from here on it waits for us.
    perform from process where id = v_owner and beat_at > v_before for update;
    continue when found;
    select array_agg(x.id) into v_lanes from (
      select id from lane where id = any (v_lanes) and owner = v_owner order by id for no key update) x;
    continue when v_lanes is null;
    update process set reaped = reaped + 1, asked_at = 0 where id = v_owner;
    update lane set owner = null, crashes = crashes + 1 where id = any (v_lanes);
    v_rings := v_rings || open_lanes_v1(v_lanes);
    v_lost := v_lost + cardinality(v_lanes);
  end loop;
  return json_build_object('now', now_ms(), 'lost', v_lost, 'rings', v_rings,
                           'owned', exists (select from lane where owner is not null));
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

create function beat_v1(p_owner bigint) returns json language plpgsql
set search_path = postroad, pg_temp as $$
declare
  v_now bigint := now_ms();
  v_reaped int;
begin
  perform set_config('synchronous_commit', 'off', true);
  update process set beat_at = v_now where id = p_owner returning reaped into v_reaped;
  return json_build_object('now', v_now, 'reaped', v_reaped);
end $$;
