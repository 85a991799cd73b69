-- Events are stored with their messages, if the sets that they were matched against have not changed. A publish shares the locks of the two sets that it was matched against, a
-- change of a set has its lock exclusively; both take them before all others. The first key is 1383031142.

-- Lock a set and raise its version: what was matched against the old one is not stored any more.
create or replace function raise_set(p_tenant text) returns void language sql
set search_path = postroad, pg_temp as $$
  select pg_advisory_xact_lock(1383031142, hashtext(p_tenant));
  insert into event_set as s (tenant, version) values (p_tenant, 1)
  on conflict (tenant) do update set version = s.version + 1
$$;

create or replace function endpoint_put(
  p_id bigint, p_tenant text, p_queue bigint, p_url text, p_spec bytea, p_state text, p_reason text,
  p_failing bigint, p_made bigint, p_version bigint, p_expires bigint, p_settings bytea, p_key text, p_sealed bytea)
returns boolean language plpgsql set search_path = postroad, pg_temp as $$
begin
  perform pg_advisory_xact_lock(1383031142, hashtext(p_tenant));
  insert into endpoint as e (id, tenant, queue_id, url, spec, state, reason, failing_since, made_at, version,
                             expires_at)
  select p_id, p_tenant, p_queue, p_url, p_spec, p_state, p_reason, p_failing, p_made, p_version, p_expires
   where p_version = 1 or exists (select from endpoint where id = p_id)  -- one that was deleted stays so
  on conflict (id) do update
     set url = excluded.url, spec = excluded.spec, state = excluded.state, reason = excluded.reason,
         failing_since = excluded.failing_since, version = excluded.version, expires_at = excluded.expires_at
   where e.version = excluded.version - 1;
  if not found then
    return false;
  end if;
  insert into webhook (queue_id, settings, key, sealed) values (p_queue, p_settings, p_key, p_sealed)
  on conflict (queue_id) do update
     set settings = excluded.settings, key = excluded.key, sealed = excluded.sealed;
  perform raise_set(p_tenant);
  return true;
end $$;

-- Store an endpoint, and move its queue to the lane of another server: rungs, dead messages and arrivals in this one
-- transaction, which has both lanes exclusively. It needs that nobody owns the old lane: then no try of the queue is
-- under way, and what a lost owner still reports is of an old epoch. If somebody does, that one is asked to give it
-- back, and for 5 s nobody else claims it. Locks: the set, makers of queues, movers of arrivals, then as everybody.
create or replace function endpoint_move(
  p_id bigint, p_tenant text, p_queue bigint, p_url text, p_spec bytea, p_state text, p_reason text,
  p_failing bigint, p_made bigint, p_version bigint, p_expires bigint, p_settings bytea, p_key text, p_sealed bytea,
  p_server text, p_credential text)
returns json language plpgsql set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint := now_ms();
  v_old bigint;
  v_new bigint;
  v_owner bigint;
  v_rings jsonb;
begin
  perform pg_advisory_xact_lock(1383031142, hashtext(p_tenant));
  perform pg_advisory_xact_lock(1383031140, 65);
  perform pg_advisory_xact_lock(1383031140, 66);
  if not exists (select from endpoint where id = p_id and version = p_version - 1) then
    return json_build_object('now', v_now, 'state', 'changed');
  end if;
  select lane_id into v_old from queue_lane where queue_id = p_queue and shard = 0;
  v_new := ensure_lane(p_tenant, 'webhook', p_server, p_credential, 0, 'webhook');
  perform lock_exclusive(array[v_old, v_new]);
  perform from lane where id in (v_old, v_new) order by id for no key update;
  select owner into v_owner from lane where id = v_old;
  if v_owner is not null and v_new <> v_old then
    update lane set wanted_until = v_now + 5000 where id = v_old;
    return json_build_object('now', v_now, 'state', 'owned',
                             'rings', jsonb_build_array(jsonb_build_array(v_owner, v_old, 0, 0, 0, -1)));
  end if;
  update queue set block_kind = '', block_until = 0, block_reason = '', block_streak = 0, block_since = 0
   where id = p_queue;
  update queue_lane set lane_id = v_new where queue_id = p_queue;
  perform lock_dead(array(select id from dead where queue_id = p_queue));
  update dead set lane_id = v_new where queue_id = p_queue;
  update arrival set lane_id = v_new where queue_id = p_queue;
  update rung set lane_id = v_new where queue_id = p_queue;
  if not endpoint_put(p_id, p_tenant, p_queue, p_url, p_spec, p_state, p_reason, p_failing, p_made, p_version,
                      p_expires, p_settings, p_key, p_sealed) then
    raise exception 'the endpoint was changed beside the lock of its set';
  end if;
  perform apply_blocks(array[p_queue]);
  if v_new <> v_old and not exists (select from queue_lane where lane_id = v_old) then
    delete from lane_level where lane_id = v_old;
    delete from lane where id = v_old;
    v_rings := touch_lanes(array[v_new]);
  else
    update lane set wanted_until = 0 where id = v_old;
    v_rings := touch_lanes(array[v_old, v_new]);
  end if;
  return json_build_object('now', v_now, 'state', 'moved', 'rings', v_rings);
end $$;

create or replace function endpoint_drop(p_tenant text, p_id bigint) returns boolean language plpgsql
set search_path = postroad, pg_temp as $$
declare
  v_queue bigint;
begin
  perform raise_set(p_tenant);
  delete from endpoint where tenant = p_tenant and id = p_id returning queue_id into v_queue;
  delete from webhook where queue_id = v_queue;
  return v_queue is not null;
end $$;

create or replace function event_type_put(
  p_name text[], p_description text[], p_schema bytea[], p_warn boolean[], p_archived boolean[])
returns void language plpgsql set search_path = postroad, pg_temp as $$
begin
  perform raise_set('');
  insert into event_type (name, description, schema, warn, archived)
  select * from unnest(p_name, p_description, p_schema, p_warn, p_archived) t(a, b, c, d, e) order by t.a
  on conflict (name) do update
     set description = excluded.description, schema = excluded.schema, warn = excluded.warn,
         archived = excluded.archived;
end $$;

-- Store an event and its messages, unless one of the sets has changed or the key was used within a day. r_: the
-- rungs of the endpoints that it matched, each with one message; an order group is 1 where the queue is ordered.
create or replace function publish(
  p_id bigint, p_tenant text, p_type text, p_body bytea, p_channels bytea, p_made bigint, p_first bigint,
  p_last bigint, p_matched int, p_endpoints bigint, p_types bigint, p_key text, p_digest bytea,
  r_lane bigint[], r_queue bigint[], r_order_group int[], m_headers bytea)
returns json language plpgsql set search_path = postroad, pg_temp set jit = off as $$
declare
  v_seen record;
  v_all int[] := array[p_matched];
  v_said json := json_build_object('now', now_ms());
begin
  perform pg_advisory_xact_lock_shared(1383031142, k.id)
     from (select distinct hashtext(t.name) as id from unnest(array['', p_tenant]) t(name) order by 1) k;
  if (select coalesce(max(version), 0) from event_set where tenant = p_tenant) <> p_endpoints
     or (select coalesce(max(version), 0) from event_set where tenant = '') <> p_types then
    return json_build_object('now', now_ms(), 'moved', true);
  end if;
  if p_key <> '' then
    insert into event_key as k (tenant, key, event_id, digest, expires_at)
    values (p_tenant, p_key, p_id, p_digest, p_made + 86400000)
    on conflict (tenant, key) do update
       set event_id = excluded.event_id, digest = excluded.digest, expires_at = excluded.expires_at
     where k.expires_at <= p_made;
    if not found then
      select e.id, e.first_message, e.matched, k.digest into v_seen
        from event_key k join event e on e.id = k.event_id where k.tenant = p_tenant and k.key = p_key;
      return json_build_object('now', now_ms(), 'id', v_seen.id, 'first', v_seen.first_message,
                               'matched', v_seen.matched, 'digest', encode(v_seen.digest, 'hex'));
    end if;
  end if;
  insert into event (id, tenant, type, channels, made_at, first_message, last_message, matched, body)
  values (p_id, p_tenant, p_type, p_channels, p_made, p_first, p_last, p_matched, p_body);
  if p_matched > 0 then
    v_said := accept(
      r_lane, r_queue, array_fill(0, v_all), r_order_group, array_fill(p_made, v_all), r_order_group,
      array(select p_first + 8192::bigint * n from generate_series(0, p_matched - 1) n),
      array(select n from generate_series(1, p_matched) n),
      case when 1 = any (r_order_group) then r_order_group else '{}' end, array[p_made], array[p_made], '{}', '{}',
      array_fill(m_headers, v_all), array_fill(''::bytea, v_all), '{}', '{}', '{}');
  end if;
  return v_said;
end $$;

-- Store an event in the caller's transaction; the ring is heard if it commits.
create or replace function event_arrive(
  p_id bigint, p_tenant text, p_type text, p_body bytea, p_channels bytea, p_made bigint, p_key text, p_digest bytea,
  p_headers bytea)
returns boolean language plpgsql set search_path = postroad, pg_temp as $$
begin
  insert into event_arrival (id, tenant, type, channels, made_at, key, digest, headers, body)
  values (p_id, p_tenant, p_type, p_channels, p_made, p_key, p_digest, p_headers, p_body);
  perform pg_notify('postroad', '{"arrivals": true}');
  return true;
end $$;

-- Publish an event that arrived in a caller's transaction, and delete it here. `busy`: another process has it, or an
-- older one of its tenant waits; so the order of each tenant is kept. A repetition of a key is dropped; with another
-- body its sender cannot be told any more, and it is stored without messages: `digest` says so.
create or replace function publish_arrival(
  p_number bigint, p_id bigint, p_tenant text, p_type text, p_body bytea, p_channels bytea, p_made bigint,
  p_first bigint, p_last bigint, p_matched int, p_endpoints bigint, p_types bigint, p_key text, p_digest bytea,
  r_lane bigint[], r_queue bigint[], r_order_group int[], m_headers bytea)
returns json language plpgsql set search_path = postroad, pg_temp set jit = off as $$
declare
  v_said json;
begin
  perform from event_arrival where number = p_number for update skip locked;
  if not found or exists (select from event_arrival where tenant = p_tenant and number < p_number) then
    return json_build_object('now', now_ms(), 'busy', true);
  end if;
  v_said := publish(p_id, p_tenant, p_type, p_body, p_channels, p_made, p_first, p_last, p_matched, p_endpoints,
                    p_types, p_key, p_digest, r_lane, r_queue, r_order_group, m_headers);
  if v_said ->> 'moved' is not null then
    return v_said;
  end if;
  if v_said ->> 'digest' <> encode(p_digest, 'hex') then
    insert into event (id, tenant, type, channels, made_at, first_message, last_message, matched, body)
    values (p_id, p_tenant, p_type, p_channels, p_made, 0, 0, 0, p_body);
  end if;
  delete from event_arrival where number = p_number;
  return v_said;
end $$;

-- Delete expired keys, and events past their retention (a day at least, as long as keys hold) that no message of
-- theirs can need any more: none is unfinished, dead, or kept. Replays that ended go after the same time. Ids begin at 1704067200000 ms.
create or replace function forget_events(p_history_ms bigint, p_limit int) returns int language plpgsql
set search_path = postroad, pg_temp set jit = off set enable_seqscan = off as $$
declare
  v_now bigint := now_ms();
  v_edge bigint := greatest(v_now - greatest(p_history_ms, 86400000) - 1704067200000, 0) << 22;
  v_gone int;
begin
  delete from event_key where (tenant, key) in (
    select tenant, key from event_key where expires_at <= v_now limit p_limit);
  delete from replay where id in (
    select id from replay where ended_at > 0 and ended_at < v_now - greatest(p_history_ms, 86400000) limit p_limit);
  with gone as (delete from event where id in (
    select e.id from event e
     where e.id < v_edge
       and not exists (select from message m where m.id between e.first_message and e.last_message)
       and not exists (select from dead d where d.id between e.first_message and e.last_message)
       and not exists (select from kept_body k where k.id between e.first_message and e.last_message)
       and not exists (select from event_message x
                        where x.event_id = e.id
                          and (exists (select from message where id = x.message_id)
                               or exists (select from dead where id = x.message_id)
                               or exists (select from kept_body where id = x.message_id)))
     order by e.id limit p_limit) returning id),
  theirs as (delete from event_message x using gone where x.event_id = gone.id)
  select count(*) into v_gone from gone;
  return v_gone;
end $$;
