-- What the owner of a lane reads. No locks.

-- The rungs of these lanes that became ready after a time, the named rungs (n_), and the queues of both and
-- those asked for (q_). Arrays, and no function calls inside: with objects and one call for each queue a look
-- took 90 µs a lane.
create or replace function look(p_lane bigint[], p_after bigint[], n_of int[], n_rung bigint[], q_queue bigint[])
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now bigint := now_ms();
  v_rungs json;
  v_queues bigint[];
  v_lanes json;
  v_told json;
  v_paced boolean := exists (select from pace);  -- most roads limit nothing
begin
  with row as materialized (
    select x.i, 0 as named, r.* from unnest(p_lane, p_after) with ordinality x(lane, after, i)
     cross join lateral (select * from rung where lane_id = x.lane and ready_at > x.after
                            and ready_at <= v_now and ready_at < never()
                          order by ready_at offset 0) r
    union all
    select n.of, 1, r.* from unnest(n_of, n_rung) n(of, rung)
     cross join lateral (select * from rung where id = n.rung limit 1) r)
  select coalesce(json_agg(json_build_array(r.i, r.id, r.lane_id, r.queue_id, r.level, r.priority, r.order_group,
                                            r.ready_at) order by r.named, r.ready_at, r.id), '[]'),
         array_agg(distinct r.queue_id)
    into v_rungs, v_queues from row r;
  select json_agg(json_build_array(
           coalesce((select r.ready_at from rung r where r.lane_id = x.lane and r.ready_at > v_now
                       and r.ready_at < never() order by r.ready_at limit 1), never()),
           l.circuit_strikes, l.circuit_opened, l.circuit_until, l.circuit_since, l.circuit_reason,
           l.paused_at > 0) order by x.i)
    into v_lanes
    from unnest(p_lane) with ordinality x(lane, i)
   cross join lateral (select * from lane where id = x.lane limit 1) l;
  select coalesce(json_agg(json_build_array(
           q.id, q.tenant, q.name, q.policy,
           array(select ql.lane_id from queue_lane ql where ql.queue_id = q.id order by ql.shard),
           q.paused_at > 0, q.resumed_at, q.block_kind, q.block_until, q.block_reason, q.block_streak,
           q.block_since, case when v_paced then limits_of(q.id) else '[[],[]]' end)), '[]')
    into v_told from queue q where q.id = any (v_queues || q_queue);
  return json_build_object('now', v_now, 'rungs', v_rungs, 'lanes', v_lanes, 'queues', v_told);
end $$;

-- The due messages of rungs after their cursors, in order. A message that is not due ends the reading: it
-- comes without body and headers. A body too large to come with all the others is left out, and is asked for
-- with read_large. (That one adds up the bodies in a window, which takes as long as the reading itself.)
create or replace function read_messages(p_rung bigint[], p_place bigint[], p_id bigint[], p_limit int[])
returns table (id bigint, rung bigint, queue bigint, lane bigint, level int, attempts int, marks int,
               place bigint, due bigint, accepted_at bigint, expires_at bigint, body bytea,
               headers bytea, want int)
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_now bigint := now_ms();
begin
  return query
  select m.id, w.rung, r.queue_id, r.lane_id, m.level, m.attempts, m.marks, m.place, m.due,
         m.accepted_at, m.expires_at,
         case when m.due <= v_now and octet_length(m.body) <= 4194304 / w.most then m.body end,
         case when m.due <= v_now then m.headers end, w.n::int
    from unnest(p_rung, p_place, p_id, p_limit) with ordinality w(rung, place, id, most, n)
   cross join lateral (select g.queue_id, g.lane_id, g.order_group from rung g where g.id = w.rung limit 1) r
   cross join lateral (select * from message y
                        where y.rung_id = w.rung and (y.place, y.id) > (w.place, w.id)
                          and y.place <= case when r.order_group > 0 then never() else v_now end
                        order by y.place, y.id limit w.most) m
  union all
  select 0, w.rung, 0, 0, 0, 0, 0, m.place, m.due, 0, 0, null, null, w.n::int
    from unnest(p_rung) with ordinality w(rung, n)
   cross join lateral (select g.order_group from rung g where g.id = w.rung limit 1) r
   cross join lateral (select y.place, y.due from message y
                        where y.rung_id = w.rung and y.place > v_now and r.order_group = 0
                        order by y.place, y.id limit 1) m;
end $$;

-- The due messages of rungs after their cursors, in order, up to 4 MB of bodies a rung. A message that is not
-- due ends the reading: it comes without a body. (Rungs that are not ordered are read by due time, so it is
-- the first row after now.)
create or replace function read_large(p_rung bigint[], p_place bigint[], p_id bigint[], p_limit int[])
returns table (id bigint, rung bigint, queue bigint, lane bigint, level int, attempts int, marks int,
               place bigint, due bigint, accepted_at bigint, expires_at bigint, body bytea,
               headers bytea, want int)
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_now bigint := now_ms();
begin
  return query
  select m.id, w.rung, r.queue_id, r.lane_id, m.level, m.attempts, m.marks, m.place, m.due,
         m.accepted_at, m.expires_at, case when m.due <= v_now then m.body end, m.headers, w.n::int
    from unnest(p_rung, p_place, p_id, p_limit) with ordinality w(rung, place, id, most, n)
   cross join lateral (select g.queue_id, g.lane_id, g.order_group from rung g where g.id = w.rung limit 1) r
   cross join lateral (
     select * from (
       select x.*, coalesce(sum(octet_length(x.body)) over before, 0) as bytes,
              coalesce(bool_or(x.due > v_now) over before, false) as over
         from (select * from message y
                where y.rung_id = w.rung and (y.place, y.id) > (w.place, w.id)
                  and y.place <= case when r.order_group > 0 then never() else v_now end
                order by y.place, y.id limit w.most) x
       window before as (order by x.place, x.id rows between unbounded preceding and 1 preceding)) z
      where z.bytes <= 4194304 and not z.over) m
  union all
  select 0, w.rung, 0, 0, 0, 0, 0, m.place, m.due, 0, 0, null, null, w.n::int
    from unnest(p_rung) with ordinality w(rung, n)
   cross join lateral (select g.order_group from rung g where g.id = w.rung limit 1) r
   cross join lateral (select y.place, y.due from message y
                        where y.rung_id = w.rung and y.place > v_now and r.order_group = 0
                        order by y.place, y.id limit 1) m;
end $$;
