-- What it costs to give back a lane that has nothing left.

-- As before (026), but rungs are locked by their update, in order of id (of all kinds: the caller has
-- their lanes alone), and only lanes that still have something are looked at again: an owned lane is
-- ready at no level, so one that rests stays so.
create or replace function release_v1(p_owner bigint, p_lane bigint[], p_epoch bigint[], p_left int) returns json
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_mine bigint[];
  v_ready bigint[];
  v_awake bigint[];
begin
  perform lock_alone_v1(p_lane);
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
    perform rest_v1(p_owner);
  else
    perform count_v1(p_owner, p_left);
  end if;
  return json_build_object('now', v_now, 'rings',
    case when cardinality(v_awake) > 0 then open_lanes_v1(v_awake) else '[]' end);
end $$;
