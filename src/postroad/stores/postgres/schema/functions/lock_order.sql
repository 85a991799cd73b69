-- Who waits for whom. Every transaction takes its locks in this order: buckets, lanes (by id), queues,
-- messages, the dead (by id), rungs (order groups by id, then the others by id), lane levels (by lane).
-- Whoever breaks the order can deadlock with others; tests/postgres/test_lock_order.py and its neighbours
-- show for each place what happens without it.
--
-- Each lane lies in one of 64 buckets, which are advisory locks. Who adds messages shares them. Who claims or
-- frees a lane, or raises the ready times of its rungs, has them exclusively. So an enqueue never acts on an
-- owner or a ready time that is about to change, and nobody puts a rung to rest beside a message that is not
-- committed yet. (Row locks on lanes, FOR KEY SHARE against FOR UPDATE, did the same; they cost up to twice
-- the WAL, and who wants them exclusively starves beside a steady stream of sharers.)
--
-- Other advisory locks, by their second key: 64 makes a history partition, 65 makes or deletes queues, 66 moves
-- arrivals, 67 changes the schema, 68 lets newcomers ask for their share of lanes one by one. Buckets of queues, 64
-- under the first key 1383031141, are shared by transactions of callers that send, and wanted exclusively
-- only by who deletes queues. Sets of endpoints and of event types have theirs under the first key 1383031142;
-- they are taken before all others; who moves an endpoint takes 65 and 66 next. 1383031143, by tenant, lets one
-- slice of a tenant's replays in.

-- Share the buckets of these lanes.
create or replace function lock_shared(p_lanes bigint[]) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(1383031140, x.bucket)
     from (select distinct (l.id & 63)::int as bucket from unnest(p_lanes) l(id) order by 1) x;
end $$;

-- Have the buckets of these lanes exclusively.
create or replace function lock_exclusive(p_lanes bigint[]) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1383031140, x.bucket)
     from (select distinct (l.id & 63)::int as bucket from unnest(p_lanes) l(id) order by 1) x;
end $$;

-- Fail if one of these queues has been deleted.
create or replace function check_queues(p_queues bigint[]) returns void language plpgsql as $$
begin
  if (select count(*) from queue where id = any (p_queues)) <
     (select count(distinct x.id) from unnest(p_queues) x(id)) then
    raise exception 'a queue is gone' using errcode = 'PR002';
  end if;
end $$;

-- Lock all lanes of these queues exclusively; returns the lanes.
create or replace function lock_queues(p_queues bigint[]) returns bigint[] language plpgsql as $$
declare
  v_lanes bigint[] := array(select distinct lane_id from queue_lane where queue_id = any (p_queues));
begin
  perform lock_exclusive(v_lanes);
  perform from lane where id = any (v_lanes) order by id for no key update;
  perform check_queues(p_queues);
  return v_lanes;
end $$;

-- Lock these dead messages by id, as everybody does; returns those that are still there. (A purge once took
-- them by their time of death, upkeep as they lie in the table: two that met in the middle deadlocked.)
create or replace function lock_dead(p_ids bigint[]) returns bigint[] language plpgsql as $$
begin
  return array(select id from dead where id = any (p_ids) order by id for update);
end $$;
