-- Queues that nobody has used for long are deleted, with their rungs and the lanes that served no other
-- (docs/decisions/023-unused-queues.md).

-- The next part of the walk over all queues, one walk a day in the whole fleet: notes which queues are unused,
-- and deletes up to `p_most` that have been for long. Returns when the walk goes on; 0: at once.
create or replace function collect_unused(p_unused_ms bigint, p_every_ms bigint, p_again_ms bigint, p_slice int, p_most int)
returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_now bigint := now_ms();
  v_after bigint;
  v_queues bigint[];
  v_old bigint[];
  v_last bigint;
  v_gone int := 0;
  v_next bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  insert into queue_walk default values on conflict do nothing;
  select after_id into v_after from queue_walk where next_at <= v_now for update skip locked;
  -- What a broker holds is not seen from here.
  if v_after is null or exists (select from broker_message) then
    return json_build_object('gone', 0, 'next_at_ms', v_now + p_again_ms);
  end if;
  v_queues := array(select id from queue where id > v_after order by id limit p_slice);
  v_last := v_queues[p_slice];
  with seen as materialized (select * from find_unused(v_queues, v_now)),
  used as (
    delete from unused_queue s where s.queue_id = any (v_queues)
       and s.queue_id <> all (array(select queue from seen)))
  insert into unused_queue as s (queue_id, since, look)
  select queue, v_now, look from seen
  on conflict (queue_id) do update set since = excluded.since, look = excluded.look
   where s.look <> excluded.look;
  v_old := array(select queue_id from unused_queue
                  where queue_id = any (v_queues) and since <= v_now - p_unused_ms
                  order by queue_id limit p_most);
  if cardinality(v_old) > 0 then
    v_last := case when cardinality(v_old) = p_most then v_old[p_most] else v_last end;
    begin
      v_gone := delete_unused(v_old, v_now - p_unused_ms, v_now);
    exception when lock_not_available then
      null;  -- a busy moment: the next walk
    end;
  end if;
  v_next := case when v_last is null then v_now + p_every_ms else 0 end;
  update queue_walk set after_id = coalesce(v_last, 0), next_at = v_next;
  return json_build_object('gone', v_gone, 'next_at_ms', v_next);
end $$;

-- Those of these queues that hold nothing and for which nobody has set anything, with a fingerprint of their
-- rungs: which transaction wrote each last. Queues of handlers stay: a process that only sends could not make
-- them again.
create or replace function find_unused(p_queues bigint[], p_now bigint) returns table (queue bigint, look text)
language sql stable as $$
  select q.id, coalesce((select md5(string_agg(r.id || ' ' || r.xmin, ',' order by r.id))
                           from rung r where r.queue_id = q.id), '')
    from queue q
   where q.id = any (p_queues) and q.transport <> 'handler' and q.paused_at = 0
     and q.block_kind <> 'disabled' and q.block_until <= p_now
     and not exists (select from rung r
                      where r.queue_id = q.id
                        and (r.ready_at < never() or r.held <> ''
                             or exists (select from message m where m.rung_id = r.id)))
     and not exists (select from dead d where d.queue_id = q.id)
     and q.id not in (select a.queue_id from arrival a)
     and not exists (select from batch_held h where h.queue_id = q.id)
     and not exists (select from idempotency i where i.queue_id = q.id and i.expires_at > p_now)
     and not exists (select from webhook w where w.queue_id = q.id)
     and not exists (select from pace p where p.queue_id = q.id and p.spec || p.hours <> '')
     and not exists (select from credential c
                      where c.tenant = q.tenant and q.name = q.transport || ':' || c.name)
     and not exists (select from queue_lane ql join lane l on l.id = ql.lane_id
                      where ql.queue_id = q.id
                        and (l.paused_at > 0 or l.circuit_until > p_now or exists (
                          select from pace p
                           where p.queue_id = 0 and p.tenant = l.tenant and p.transport = l.transport
                             and p.server = l.server and p.credential = l.credential
                             and p.spec || p.hours <> '')))
$$;

-- Delete those of these queues that are still unused, have been since before a time, and whose lanes nobody
-- owns.
create or replace function delete_unused(p_queues bigint[], p_before bigint, p_now bigint) returns int
language plpgsql as $$
declare
  v_queues bigint[] := lock_for_deletion(p_queues);
begin
  return drop_queues(array(
    select u.queue from find_unused(v_queues, p_now) u
      join unused_queue s on s.queue_id = u.queue and s.look = u.look and s.since <= p_before
     where not exists (select from queue_lane ql join lane l on l.id = ql.lane_id
                        where ql.queue_id = u.queue and l.owner is not null)));
end $$;

-- Lock queues and their lanes exclusively: all that an accept, a claim, a transaction of a caller or a new queue
-- shares; returns the queues. Those that somebody is writing are left out, so that no two wait for each other.
create or replace function lock_for_deletion(p_queues bigint[]) returns bigint[] language plpgsql as $$
declare
  v_queues bigint[];
  v_lanes bigint[];
begin
  perform pg_advisory_xact_lock(1383031140, 65);
  v_queues := array(select x.id from unnest(p_queues) x(id)
                     where pg_try_advisory_xact_lock(1383031141, (x.id & 63)::int));
  v_lanes := array(select distinct lane_id from queue_lane where queue_id = any (v_queues));
  perform lock_exclusive(v_lanes);
  perform from lane where id = any (v_lanes) order by id for update;
  return array(select id from queue where id = any (v_queues) order by id for update skip locked);
end $$;

-- Delete queues that are locked, with their rungs, limits and keys, and the lanes that served no other; returns
-- how many.
create or replace function drop_queues(p_queues bigint[]) returns int language plpgsql as $$
declare
  v_lanes bigint[] := array(select distinct lane_id from queue_lane where queue_id = any (p_queues));
  v_paces bigint[] := array(select id from pace where queue_id = any (p_queues));
begin
  delete from pace_count where ledger = any (v_paces);
  delete from pace_share where ledger = any (v_paces);
  delete from pace where id = any (v_paces);
  delete from idempotency where queue_id = any (p_queues);
  delete from unused_queue where queue_id = any (p_queues);
  delete from rung where queue_id = any (p_queues);
  delete from queue_lane where queue_id = any (p_queues);
  delete from queue where id = any (p_queues);
  v_lanes := array(
    select l.id from lane l
     where l.id = any (v_lanes) and l.owner is null
       and not exists (select from queue_lane ql where ql.lane_id = l.id));
  delete from lane_level where lane_id = any (v_lanes);
  delete from lane where id = any (v_lanes);
  return cardinality(p_queues);
end $$;
