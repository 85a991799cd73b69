-- Queues that nobody used for long are deleted, with their rungs and the lanes that served nobody else.

-- Since when a queue is seen unused, and what its rungs looked like then. Written by the walk alone: to
-- send and to record cost nothing more. A rung at rest is written by the next message to it, so a queue
-- that was used since has another look.
create table unused_queue (
  queue_id bigint primary key,
  since    bigint not null,
  look     text not null
);

-- How far the one walk of the fleet is, and when the next one may begin.
create table queue_walk (
  one      int primary key default 1 check (one = 1),
  after_id bigint not null default 0,
  next_at  bigint not null default 0
);

create function check_queues_v1(p_queues bigint[]) returns void language plpgsql as $$
begin
  if (select count(*) from queue where id = any (p_queues)) <
     (select count(distinct x.id) from unnest(p_queues) x(id)) then
    raise exception 'a queue is gone' using errcode = 'PR002';
  end if;
end $$;

-- As before (003); a queue that is gone is told.
create or replace function rungs_v1(p_lane bigint[], p_queue bigint[], p_level int[], p_priority int[],
                         p_slot int[])
returns bigint[] language plpgsql as $$
declare
  v_found bigint[];
begin
  for turn in 1..2 loop
    -- A subquery, not a join: a join was planned as a scan of all rungs while there were few.
    select array_agg((select r.id from rung r
                       where r.lane_id = x.lane and r.queue_id = x.queue and r.slot = x.slot
                         and r.step = case when x.slot > 0 then 0 else x.level end
                         and r.priority = x.priority) order by x.n)
      into v_found
      from unnest(p_lane, p_queue, p_level, p_priority, p_slot) with ordinality
        as x(lane, queue, level, priority, slot, n);
    if array_position(v_found, null) is null then
      return v_found;
    end if;
    -- A new rung is under its queue's block; who changes that waits, or we do.
    perform from queue where id = any (p_queue) order by id for share;
    perform check_queues_v1(p_queue);
    insert into rung (lane_id, queue_id, level, priority, slot, blocked_until)
    select x.lane, x.queue, x.level, x.priority, x.slot,
           case when x.level < 0 then never()
                else (select case when q.paused_at > 0 then never() else q.block_until end
                        from queue q where q.id = x.queue) end
      from unnest(p_lane, p_queue, p_level, p_priority, p_slot) with ordinality
        as x(lane, queue, level, priority, slot, n)
     where v_found[x.n] is null
     order by 1, 2, 5, 3, 4
    on conflict do nothing;
  end loop;
  raise exception 'a rung was made and is not there';
end $$;

-- As before (009); a queue that is gone is told.
create or replace function seize_v1(p_queues bigint[]) returns bigint[] language plpgsql as $$
declare
  v_lanes bigint[] := array(select distinct lane_id from queue_lane where queue_id = any (p_queues));
begin
  perform lock_alone_v1(v_lanes);
  perform from lane where id = any (v_lanes) order by id for no key update;
  perform check_queues_v1(p_queues);
  return v_lanes;
end $$;

-- As before (004); one that is deleted between the first look and the last is made anew.
create or replace function open_queues_v1(p_specs json) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_spec record;
  v_queue bigint;
  v_lane bigint;
  v_found json;
  v_all json[] := '{}';
begin
  for v_spec in
    select * from json_to_recordset(p_specs) as s(
      tenant text, name text, policy json, lane_tenant text, transport text, server text,
      credential text, shards int, pool text)
  loop
    loop
      select q.id into v_queue from queue q where q.tenant = v_spec.tenant and q.name = v_spec.name;
      if v_queue is null then
        perform pg_advisory_xact_lock(1383031140, 65);
        insert into queue (tenant, name, transport, policy)
        values (v_spec.tenant, v_spec.name, v_spec.transport, v_spec.policy)
        on conflict do nothing returning id into v_queue;
        if v_queue is not null then
          for v_shard in 0..v_spec.shards - 1 loop
            v_lane := lane_v1(v_spec.lane_tenant, v_spec.transport, v_spec.server, v_spec.credential,
                              v_shard, v_spec.pool);
            insert into queue_lane (queue_id, shard, lane_id) values (v_queue, v_shard, v_lane);
          end loop;
        end if;
      end if;
      update queue q set policy = v_spec.policy
       where q.tenant = v_spec.tenant and q.name = v_spec.name
         and q.policy::text <> v_spec.policy::text;
      select queue_v1(q) into v_found from queue q
       where q.tenant = v_spec.tenant and q.name = v_spec.name;
      exit when v_found is not null;
    end loop;
    v_all := v_all || v_found;
  end loop;
  return array_to_json(v_all);
end $$;

-- Send inside the caller's own transaction; the ring is heard if that commits. Until it ends its queues
-- are not deleted: it shares their buckets, 64 of their own, which only the walk wants alone, and it
-- does not wait for them. False: one of them is gone, or is newer than what this transaction sees, and
-- nothing was stored. `p_sure`: they are there, and the buckets are shared already.
create function arrive_v2(
  a_id bigint[], a_queue bigint[], a_lane bigint[], a_slot int[], a_priority int[], a_accepted bigint[],
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
  insert into arrival (id, queue_id, lane_id, slot, priority, accepted_at, due, expires_at, order_key,
                       key, digest, headers, body)
  select * from unnest(a_id, a_queue, a_lane, a_slot, a_priority, a_accepted, a_due, a_expires,
                       a_order_key, a_key, a_digest, a_headers, a_body);
  perform pg_notify('postroad', '{"arrivals": true}');
  return true;
end $$;
drop function arrive_v1;

-- Those of these queues that hold nothing, and for which nobody has set anything; with the look of their
-- rungs: which transaction wrote each last. Those of handlers stay: who only sends could not make them anew.
create function unused_v1(p_queues bigint[], p_now bigint) returns table (queue bigint, look text)
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
     and not exists (select from idempotency i where i.queue_id = q.id and i.expires_at > p_now)
     and not exists (select from webhook w where w.queue_id = q.id)
     and not exists (select from pace p where p.queue_id = q.id and p.spec <> '')
     and not exists (select from credential c
                      where c.tenant = q.tenant and q.name = q.transport || ':' || c.name)
     and not exists (select from queue_lane ql join lane l on l.id = ql.lane_id
                      where ql.queue_id = q.id
                        and (l.paused_at > 0 or l.circuit_until > p_now or exists (
                          select from pace p
                           where p.queue_id = 0 and p.tenant = l.tenant and p.transport = l.transport
                             and p.server = l.server and p.credential = l.credential
                             and p.spec <> '')))
$$;

-- Delete those of these queues that are still unused, as they were seen to be since before a time, and
-- whose lanes nobody owns. It has all that an accept, a claim, a transaction of a caller or a new queue
-- shares; queues that somebody is writing are left for the next walk, so that nobody waits in a circle.
create function delete_unused_v1(p_queues bigint[], p_before bigint, p_now bigint) returns int
language plpgsql as $$
declare
  v_queues bigint[];
  v_lanes bigint[];
  v_paces bigint[];
begin
  perform pg_advisory_xact_lock(1383031140, 65);
  v_queues := array(select x.id from unnest(p_queues) x(id)
                     where pg_try_advisory_xact_lock(1383031141, (x.id & 63)::int));
  v_lanes := array(select distinct lane_id from queue_lane where queue_id = any (v_queues));
  perform lock_alone_v1(v_lanes);
  perform from lane where id = any (v_lanes) order by id for update;
  v_queues := array(select id from queue where id = any (v_queues) order by id for update skip locked);
  v_queues := array(
    select u.queue from unused_v1(v_queues, p_now) u
      join unused_queue s on s.queue_id = u.queue and s.look = u.look and s.since <= p_before
     where not exists (select from queue_lane ql join lane l on l.id = ql.lane_id
                        where ql.queue_id = u.queue and l.owner is not null));
  v_paces := array(select id from pace where queue_id = any (v_queues));
  delete from pace_count where ledger = any (v_paces);
  delete from pace_share where ledger = any (v_paces);
  delete from pace where id = any (v_paces);
  delete from idempotency where queue_id = any (v_queues);
  delete from unused_queue where queue_id = any (v_queues);
  delete from rung where queue_id = any (v_queues);
  delete from queue_lane where queue_id = any (v_queues);
  delete from queue where id = any (v_queues);
  v_lanes := array(
    select l.id from lane l
     where l.id = any (v_lanes) and l.owner is null
       and not exists (select from queue_lane ql where ql.lane_id = l.id));
  delete from lane_level where lane_id = any (v_lanes);
  delete from lane where id = any (v_lanes);
  return cardinality(v_queues);
end $$;

-- The next part of the walk over all queues, one a day in the whole fleet: notes which are unused, and
-- deletes up to `p_most` that have been for long. Answers when it goes on; 0: at once.
create function collect_v1(p_unused_ms bigint, p_every_ms bigint, p_again_ms bigint, p_slice int, p_most int)
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
  with seen as materialized (select * from unused_v1(v_queues, v_now)),
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
      v_gone := delete_unused_v1(v_old, v_now - p_unused_ms, v_now);
    exception when lock_not_available then
      null;  -- a busy moment: the next walk
    end;
  end if;
  v_next := case when v_last is null then v_now + p_every_ms else 0 end;
  update queue_walk set after_id = coalesce(v_last, 0), next_at = v_next;
  return json_build_object('gone', v_gone, 'next_at_ms', v_next);
end $$;
