-- Stopping things: cancel, pause, resume, unblock.

-- Cancel messages that nobody owns, and ask the owners of the rest. Answers each one's state.
create function cancel_v1(p_tenant text, p_ids bigint[]) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_lanes bigint[];
  v_free bigint[];
  v_asked jsonb;
  v_states jsonb;
  v_rings jsonb := '[]';
begin
  v_lanes := array(select distinct (select r.lane_id from rung r where r.id = m.rung_id)
                     from message m where m.id = any (p_ids));
  perform from lane where id = any (v_lanes) order by id for share;
  with live as materialized (
    select m.id, r.lane_id, r.level, l.owner
      from (select id, rung_id from message where id = any (p_ids) offset 0) m
     cross join lateral (select lane_id, level, queue_id from rung where id = m.rung_id limit 1) r
     cross join lateral (select owner from lane where id = r.lane_id limit 1) l
     cross join lateral (select tenant from queue where id = r.queue_id limit 1) q
     where q.tenant = p_tenant)
  select array_agg(id) filter (where owner is null or level < 0),
         jsonb_agg(jsonb_build_array(owner, lane_id, 0, 0, 0, id)) filter (where owner is not null and level >= 0),
         jsonb_object_agg(id, case when owner is null or level < 0 then 'cancelled' else 'pending' end)
    into v_free, v_asked, v_states from live;
  if v_free is not null then
    v_rings := bury_v1(v_free, null, now_ms());
  end if;
  return json_build_object(
    'now', now_ms(), 'rings', v_rings || coalesce(v_asked, '[]'),
    'states', coalesce(v_states, '{}') || (
      select coalesce(jsonb_object_agg(f.id, f.state), '{}') from (
        select h.id, case h.state when 'cancelled' then 'cancelled' else 'final' end as state, h.queue_id
          from history h where h.id = any (p_ids)
        union all
        select d.id, 'final', d.queue_id from dead d where d.id = any (p_ids)) f
       where (select q.tenant = p_tenant from queue q where q.id = f.queue_id)
         and not coalesce(v_states, '{}') ? f.id::text));
end $$;

-- The owner of a lane takes messages out of it.
create function withdraw_v1(p_owner bigint, p_lane bigint, p_epoch bigint, p_ids bigint[]) returns boolean
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
begin
  perform from lane where id = p_lane and owner = p_owner and epoch = p_epoch for share;
  if not found then
    return false;
  end if;
  perform bury_v1(p_ids, null, now_ms());
  return true;
end $$;

-- An uncertain message counts as delivered, or goes back to its rung, due now. In an ordered queue
-- those behind it have gone: it goes by itself, outside its slot.
create function settle_v1(p_tenant text, p_id bigint, p_sent boolean) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v record;
  v_now bigint := now_ms();
  v_rung bigint[];
  v_rings jsonb := '[]';
begin
  -- Lanes before messages, as everybody locks them.
  perform from lane where id = (select r.lane_id from message m join rung r on r.id = m.rung_id
                                 where m.id = p_id) for share;
  select r.lane_id, r.queue_id, r.priority, m.level into v
    from message m join rung r on r.id = m.rung_id join queue q on q.id = r.queue_id
   where m.id = p_id and r.level < 0 and q.tenant = p_tenant for update of m;
  if not found then
    return json_build_object('now', v_now, 'rings', v_rings, 'settled', false);
  end if;
  if p_sent then
    perform history_day_v1(v_now / 86400000);
    with gone as (delete from message where id = p_id returning *)
    insert into history (id, queue_id, state, accepted_at, finished_at, level, attempts, took_ms)
    select id, v.queue_id, 'delivered', accepted_at, v_now, level, attempts, 0 from gone;
  else
    v_rung := rungs_v1(array[v.lane_id], array[v.queue_id], array[v.level], array[v.priority], array[0]);
    update message set rung_id = v_rung[1], place = v_now, due = v_now, marks = 0 where id = p_id;
    v_rings := wake_v1(array[v.lane_id], v_rung, array[v_now]);
  end if;
  return json_build_object('now', v_now, 'rings', v_rings, 'settled', true);
end $$;

-- Have all lanes of these queues alone; answers them.
create function seize_v1(p_queues bigint[]) returns bigint[] language plpgsql as $$
declare
  v_lanes bigint[] := array(select distinct lane_id from queue_lane where queue_id = any (p_queues));
begin
  perform lock_alone_v1(v_lanes);
  perform from lane where id = any (v_lanes) order by id for no key update;
  return v_lanes;
end $$;

-- Hold a queue, or let it go on; its spell of a block does not count the pause.
create function pause_queue_v1(p_queue bigint, p_paused boolean) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_lanes bigint[] := seize_v1(array[p_queue]);
  v_now bigint := now_ms();
begin
  if p_paused then
    update queue set paused_at = v_now where id = p_queue and paused_at = 0;
  else
    update queue
       set block_since = case when block_since > 0 then block_since + (v_now - paused_at) else 0 end,
           paused_at = 0, resumed_at = v_now
     where id = p_queue and paused_at > 0;
  end if;
  perform gate_v1(array[p_queue]);
  return json_build_object('now', v_now, 'rings', touch_v1(v_lanes));
end $$;

-- Lift a queue's hold-off, also one that disabled it.
create function unblock_queue_v1(p_queue bigint) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_lanes bigint[] := seize_v1(array[p_queue]);
begin
  update queue set block_kind = '', block_until = 0, block_reason = '', block_streak = 0, block_since = 0
   where id = p_queue;
  perform gate_v1(array[p_queue]);
  return json_build_object('now', now_ms(), 'rings', touch_v1(v_lanes));
end $$;

-- Hold a lane, or let it go on; its spell of silence does not count the pause.
create function pause_lane_v1(p_lane bigint, p_paused boolean) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint := now_ms();
begin
  perform lock_alone_v1(array[p_lane]);
  if p_paused then
    update lane set paused_at = v_now where id = p_lane and paused_at = 0;
  else
    update lane
       set circuit_since = case when circuit_since > 0 then circuit_since + (v_now - paused_at) else 0 end,
           paused_at = 0
     where id = p_lane and paused_at > 0;
  end if;
  return json_build_object('now', v_now, 'rings', touch_v1(array[p_lane]));
end $$;

-- Close a lane's circuit, and lift its queues' `unreachable` hold-offs.
create function unblock_lane_v1(p_lane bigint) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_queues bigint[] := array(select q.id from queue_lane ql join queue q on q.id = ql.queue_id
                              where ql.lane_id = p_lane and q.block_kind = 'unreachable');
  v_lanes bigint[] := array(select distinct lane_id from queue_lane where queue_id = any (v_queues));
begin
  perform lock_alone_v1(v_lanes || p_lane);
  perform from lane where id = any (v_lanes || p_lane) order by id for no key update;
  update lane set circuit_strikes = 0, circuit_opened = 0, circuit_until = 0, circuit_since = 0,
                  circuit_reason = ''
   where id = p_lane;
  update queue set block_kind = '', block_until = 0, block_reason = '', block_streak = 0, block_since = 0
   where id = any (v_queues) and block_kind = 'unreachable';
  perform gate_v1(v_queues);
  return json_build_object('now', now_ms(), 'rings',
                           touch_v1(array(select distinct unnest(v_lanes || p_lane))));
end $$;
