-- Messages that are sent inside a caller's own transaction, and how they get to their rungs.

-- Store messages in the caller's transaction; the ring is heard if it commits. Until it ends, its queues are
-- not deleted: it shares their buckets, which only the walk over unused queues wants exclusively, and does not
-- wait for them. False: a queue is gone, or newer than what this transaction sees, and nothing was
-- stored. `p_sure`: the queues are there, and their buckets are shared already.
create or replace function arrive(
  a_id bigint[], a_queue bigint[], a_lane bigint[], a_order_group int[], a_priority int[], a_accepted bigint[],
  a_due bigint[], a_expires bigint[], a_order_key text[], a_key text[], a_digest bytea[],
  a_headers bytea[], a_body bytea[], p_sure boolean)
returns boolean language plpgsql set search_path = postroad, pg_temp as $$
begin
  if not p_sure then
    perform pg_advisory_xact_lock_shared(1383031141, x.bucket)
       from (select distinct (q.id & 63)::int as bucket from unnest(a_queue) q(id) order by 1) x;
    if current_setting('transaction_isolation') <> 'read committed' then
      -- What it sees is from before the lock: one that was deleted since must fail here.
      perform from queue where id = any (a_queue) order by id for key share;
    end if;
    if (select count(*) from queue where id = any (a_queue)) <
       (select count(distinct q.id) from unnest(a_queue) q(id)) then
      return false;
    end if;
  end if;
  insert into arrival (id, queue_id, lane_id, order_group, priority, accepted_at, due, expires_at, order_key,
                       key, digest, headers, body)
  select * from unnest(a_id, a_queue, a_lane, a_order_group, a_priority, a_accepted, a_due, a_expires,
                       a_order_key, a_key, a_digest, a_headers, a_body);
  perform pg_notify('postroad', '{"arrivals": true}');
  return true;
end $$;

-- Move the oldest arrivals to their rungs. There is one mover at a time, so that the order within each key is
-- kept. A batch ends before the second use of an idempotency key. An arrival whose key was used within a
-- day is dropped as a duplicate; if its body differs it goes to the dead set, because its sender cannot be
-- told any more.
create or replace function move_arrivals(p_limit int) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_rows arrival[];
  v_answer json;
  v_now bigint := now_ms();
begin
  perform set_config('synchronous_commit', 'off', true);
  perform pg_advisory_xact_lock(1383031140, 66);
  -- A caller's transaction may end after its queue has moved to another lane. It does not move while the lock is ours.
  update arrival a set lane_id = (select ql.lane_id from queue_lane ql where ql.queue_id = a.queue_id and ql.shard = 0)
   where a.number in (select x.number from arrival x order by x.number limit p_limit)
     and not exists (select from queue_lane ql where ql.queue_id = a.queue_id and ql.lane_id = a.lane_id)
     and exists (select from queue_lane ql where ql.queue_id = a.queue_id);
  v_rows := array(
    select z.a from (
      select y.a, bool_or(y.again) over (order by (y.a).number) as over from (
        select x.a, (x.a).key <> '' and row_number() over
                 (partition by (x.a).queue_id, (x.a).key order by (x.a).number) > 1 as again
          from (select a from arrival a order by a.number limit p_limit) x) y) z
     where not z.over order by (z.a).number);
  if cardinality(v_rows) = 0 then
    return json_build_object('now', v_now, 'moved', 0, 'rings', '[]'::json);
  end if;
  delete from arrival where number = any (array(select a.number from unnest(v_rows) a));
  v_answer := accept_rows(v_rows);
  insert into dead (id, queue_id, lane_id, reason, died_at, level, attempts, accepted_at, priority,
                    order_group, order_key, error, status, headers, body)
  select a.id, a.queue_id, a.lane_id, 'rejected', v_now, 0, 0, a.accepted_at, a.priority, a.order_group,
         a.order_key, 'its key was used within a day with another body', 0, a.headers, a.body
    from json_array_elements(v_answer -> 'seen') s
    join unnest(v_rows) with ordinality
      as a(number, id, queue_id, lane_id, order_group, priority, accepted_at, due, expires_at, order_key, key,
           digest, headers, body, n) on a.n = (s.value ->> 0)::int
   where s.value ->> 2 <> encode(a.digest, 'hex')
  on conflict do nothing;
  return json_build_object('now', v_now, 'moved', cardinality(v_rows), 'rings', v_answer -> 'rings');
end $$;

-- Turn arrivals into the arguments of accept.
create or replace function accept_rows(p_rows arrival[]) returns json language sql as $$
  with row as materialized (
    select a.*, case when a.order_group > 0 then 0 else a.priority end as rank
      from unnest(p_rows) with ordinality
        as a(number, id, queue_id, lane_id, order_group, priority, accepted_at, due, expires_at, order_key, key,
             digest, headers, body, n)),
  placed as materialized (
    select r.*, (dense_rank() over (order by lane_id, queue_id, rank, order_group))::int as of,
           (case when order_group > 0 then row_number() over
              (partition by lane_id, queue_id, rank, order_group order by r.n) else 0 end)::int as nth
      from row r),
  rung as materialized (
    select p.of, min(p.lane_id) as lane, min(p.queue_id) as queue, min(p.rank) as priority,
           min(p.order_group) as order_group, min(p.due) as due, max(p.nth) as most
      from placed p group by p.of),
  r as (select array_agg(lane order by g.of) as lane, array_agg(queue order by g.of) as queue,
               array_agg(priority order by g.of) as priority, array_agg(order_group order by g.of) as order_group,
               array_agg(due order by g.of) as due, array_agg(most order by g.of) as most from rung g),
  m as (select array_agg(id order by p.n) as id, array_agg(p.of order by p.n) as of,
               case when max(nth) > 0 then array_agg(nth order by p.n) else '{}' end as nth,
               array_agg(due order by p.n) as due, array_agg(accepted_at order by p.n) as accepted,
               array_agg(expires_at order by p.n) as expires,
               array_agg(order_key order by p.n) as order_key,
               array_agg(headers order by p.n) as headers, array_agg(body order by p.n) as body
          from placed p),
  k as (select coalesce(array_agg(n::int order by n), '{}') as of,
               coalesce(array_agg(key order by n), '{}') as key,
               coalesce(array_agg(digest order by n), '{}') as digest from placed where key <> '')
  select accept(r.lane, r.queue, r.priority, r.order_group, r.due, r.most, m.id, m.of, m.nth, m.due,
                   m.accepted, m.expires, m.order_key, m.headers, m.body, k.of, k.key, k.digest)
    from r, m, k
$$;
