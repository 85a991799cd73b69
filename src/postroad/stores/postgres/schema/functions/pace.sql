-- Rate limits: slots are reserved on a ledger. Figures as in model/pace.py: grace and network spread are
-- 80 ms together, a block of slots is 250 ms, a window has 60 buckets.

-- Reserve slots, for all asks in the order they come, in one transaction.
create or replace function reserve(p_asks json) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_now bigint;
  v_grants json;
begin
  perform from pace where id in (select l::bigint from json_array_elements(p_asks) a,
                                 json_array_elements_text(a -> 'ledgers') l)
    order by id for update;
  v_now := now_us();
  select coalesce(json_agg(pace_take(a.ledgers, a.name, a.starts, a.cost, a.gap_us, v_now)
                           order by a.i), '[]')
    into v_grants
    from rows from (json_to_recordset(p_asks)
           as (ledgers bigint[], name text, starts int, cost bigint, gap_us bigint))
         with ordinality as a(ledgers, name, starts, cost, gap_us, i);
  return json_build_object('now_us', v_now, 'grants', v_grants);
end $$;

-- One ask: [times, when to ask again]. The caller has locked the ledgers.
create or replace function pace_take(
  p_ids bigint[], p_name text, p_starts int, p_cost bigint, p_gap bigint, p_now bigint)
returns json language plpgsql as $$
declare
  v_space bigint[];
  v_cost bigint[];
  v_next bigint[];
  v_counted jsonb[];
  v_ends bigint;
  v_at bigint[] := '{}';
  v_again bigint := 0;
  v_free bigint;
  v_waits boolean;
begin
  select array_agg(p.id order by x.i), array_agg(p.spacing_us order by x.i),
         array_agg(case when p_cost > 0 then p_cost else p.cost end order by x.i),
         array_agg(p.next_us order by x.i), array_agg(p.counted order by x.i),
         min(p.until) filter (where p.until > 0) * 1000
    into p_ids, v_space, v_cost, v_next, v_counted, v_ends
    from unnest(p_ids) with ordinality x(id, i)
    join pace p on p.id = x.id and p.spec <> '' and (p.until = 0 or p.until * 1000 > p_now);
  if p_ids is null then  -- the limit is gone, and the asker does not know yet
    return json_build_object('at_us', array_fill(p_now, array[p_starts]), 'again_us', 0);
  end if;
  if p_cost > (select min(cost) from pace where id = any (p_ids)) then
    return json_build_object('at_us', v_at, 'again_us', never());  -- the spacing is too small for it
  end if;
  v_again := pace_turn(p_ids[1], p_name, p_now);
  v_waits := v_again > 0;
  while v_again = 0 and cardinality(v_at) < least(p_starts, 1000) loop
    v_free := (select greatest(p_now, max(n)) from unnest(v_next) n);
    if (cardinality(v_at) > 0 and v_free >= v_at[1] + 250000)
       or v_free > p_now + (case when cardinality(v_at) > 0 then 500000 else 250000 end) then
      v_again := v_free - 250000;
    elsif v_free > greatest(p_now, v_next[1]) + greatest(40000, v_space[1]) then
      -- slots that would be passed over are left to others
      v_again := greatest(v_free - 250000, least(v_free - 40000, p_now + 60000));
    else
      for i in 1 .. cardinality(p_ids) loop
        if v_counted[i] <> '[]' then
          v_again := greatest(v_again, pace_full(p_ids[i], v_counted[i], v_cost[i], v_free));
        end if;
      end loop;
    end if;
    -- one that its own limit holds up must not hold up the others
    v_waits := v_next[1] - 250000 = v_again;
    exit when v_again > 0;
    for i in 1 .. cardinality(p_ids) loop
      v_next[i] := v_free + v_cost[i] * v_space[i];
      if v_counted[i] <> '[]' then
        perform pace_charge(p_ids[i], v_counted[i], v_cost[i], v_free);
      end if;
    end loop;
    v_at := v_at || v_free;
  end loop;
  update pace_share set taken = taken + cardinality(v_at) * v_cost[1],
                        again_us = case when v_waits and v_at = '{}' then v_again else 0 end
   where ledger = p_ids[1] and name = p_name;
  if cardinality(v_at) > 0 then
    update pace p set next_us = x.next + p_gap from unnest(p_ids, v_next) x(id, next) where p.id = x.id;
    delete from pace_count where ledger = any (p_ids)
       and (bucket + 1) * (length_us / 60) + length_us + 80000 < p_now;
  end if;
  return json_build_object('at_us', v_at, 'again_us', least(v_again, v_ends));
end $$;

-- When a counted window has room for a start at a time; 0: it has. A bucket counts until all of it, with what
-- came late, lies outside the window.
create or replace function pace_full(p_ledger bigint, p_counted jsonb, p_cost bigint, p_at bigint)
returns bigint language plpgsql stable as $$
declare
  v_window jsonb;
  v_length bigint;
  v_width bigint;
  v_over bigint;
  v_bucket record;
  v_again bigint := 0;
begin
  for v_window in select * from jsonb_array_elements(p_counted) loop
    v_length := (v_window ->> 1)::bigint;
    v_width := v_length / 60;
    v_over := p_cost - (v_window ->> 0)::bigint + coalesce((
      select sum(used) from pace_count where ledger = p_ledger and length_us = v_length
         and bucket >= (p_at - v_length - 80000) / v_width), 0);
    for v_bucket in
      select bucket, used from pace_count where ledger = p_ledger and length_us = v_length
         and bucket >= (p_at - v_length - 80000) / v_width order by bucket
    loop
      exit when v_over <= 0;
      v_over := v_over - v_bucket.used;
      v_again := greatest(v_again, (v_bucket.bucket + 1) * v_width + v_length + 80000);
    end loop;
  end loop;
  return v_again;
end $$;

-- Count a start in all counted windows of a ledger.
create or replace function pace_charge(p_ledger bigint, p_counted jsonb, p_cost bigint, p_at bigint)
returns void language sql as $$
  insert into pace_count as c (ledger, length_us, bucket, used)
  select p_ledger, (w ->> 1)::bigint, p_at / ((w ->> 1)::bigint / 60), p_cost
    from jsonb_array_elements(p_counted) w
  on conflict (ledger, length_us, bucket) do update set used = c.used + excluded.used
$$;

-- When it is somebody's turn on a ledger, beside those who wait and have had less; 0: now. A new asker starts
-- level with the one that has had the least.
create or replace function pace_turn(p_ledger bigint, p_name text, p_now bigint) returns bigint
language plpgsql as $$
declare
  v_taken bigint;
  v_first bigint;
begin
  delete from pace_share where ledger = p_ledger and greatest(seen_us, again_us) < p_now - 2000000;
  insert into pace_share (ledger, name, taken, seen_us)
  values (p_ledger, p_name,
          coalesce((select min(taken) from pace_share where ledger = p_ledger), 0), p_now)
  on conflict (ledger, name) do update set seen_us = excluded.seen_us returning taken into v_taken;
  select min(again_us) into v_first from pace_share
   where ledger = p_ledger and again_us > 0 and again_us + 500000 > p_now and taken < v_taken;
  return case when v_first is null then 0 else greatest(v_first, p_now) + 20000 end;
end $$;

-- A pattern with * and ? as one of LIKE.
create or replace function like_of(p_pattern text) returns text language sql immutable as $$
  select replace(replace(replace(replace(replace(
    p_pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%'), '?', '_')
$$;

-- Whether a pattern means a lane; *.google.com means google.com, too.
create or replace function lane_matches(p_pattern text, p_transport text, p_server text) returns boolean
language sql immutable as $$
  select p_transport || ':' || p_server like postroad.like_of(p_pattern)
      or p_transport || ':' || p_server like postroad.like_of(replace(replace(p_pattern, ':*.', ':'), '//*.', '//'))
$$;

-- The limits of a lane: its own, its credential's, which all sites share (its server is the credential's name), and
-- named ones. Rows of named limits have no transport.
create or replace function paces_of_lane(p_lane bigint) returns setof pace language sql stable
set search_path = postroad, pg_temp as $$
  select p.* from lane l
    join pace p on p.queue_id = 0 and p.tenant = l.tenant and p.transport = l.transport
     and p.server in (l.server, l.credential) and p.credential = l.credential and p.name = ''
   where l.id = p_lane and p.spec || p.hours <> ''
  union all
  select p.* from lane l
    join pace p on p.queue_id = 0 and p.tenant in (l.tenant, '*') and p.transport = '' and p.server = ''
     and p.credential = '' and p.name <> '' and lane_matches(p.lanes, l.transport, l.server)
   where l.id = p_lane and p.spec || p.hours <> '' and (p.until = 0 or p.until > now_ms())
$$;

-- The number of the limit of a queue, of a lane's credential, or of a name; made where it is new.
create or replace function pace_of(p_queue bigint, p_lane bigint, p_tenant text, p_name text) returns bigint
language plpgsql as $$
declare
  v_key lane;
  v_id bigint;
begin
  select * into v_key from lane where id = p_lane;
  insert into pace (queue_id, tenant, transport, server, credential, name, lanes, spec, cost, spacing_us)
  values (p_queue, coalesce(v_key.tenant, p_tenant), coalesce(v_key.transport, ''), coalesce(v_key.server, ''),
          coalesce(v_key.credential, ''), p_name, case when p_name = '' then '' else '*' end, '', 1, 0)
  on conflict do nothing;
  select id into v_id from pace p
   where p.queue_id = p_queue and p.tenant = coalesce(v_key.tenant, p_tenant)
     and p.transport = coalesce(v_key.transport, '') and p.server = coalesce(v_key.server, '')
     and p.credential = coalesce(v_key.credential, '') and p.name = p_name for update;
  return v_id;
end $$;

-- Change a limit, which the caller has locked. Slots that are reserved and may still be used count by the new
-- spacing.
create or replace function pace_change(p_id bigint, p_limit json) returns void language plpgsql as $$
declare
  v_now bigint := now_us();
  v_spacing bigint := (p_limit ->> 'spacing_us')::bigint;
begin
  update pace
     set spec = p_limit ->> 'spec', cost = (p_limit ->> 'cost')::bigint, spacing_us = v_spacing,
         counted = (p_limit -> 'counted')::jsonb, hours = p_limit ->> 'hours', zone = p_limit ->> 'zone',
         next_us = next_us + case when spacing_us > 0 and v_spacing > 0 then
           (greatest(0, next_us - v_now + 40000) / spacing_us + 1) * v_spacing - spacing_us
           else 0 end
   where id = p_id;
  delete from pace_share where ledger = p_id;
end $$;

-- Set a queue's limit; one without a rate and hours lifts it.
create or replace function limit_queue(p_queue bigint, p_limit json) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
begin
  perform lock_queues(array[p_queue]);
  perform pace_change(pace_of(p_queue, 0, '', ''), p_limit);
  return json_build_object('now', now_ms(), 'rings', touch_lanes(array(
    select lane_id from queue_lane where queue_id = p_queue)));
end $$;

-- Limit a queue that drains, or lift that; not where somebody has set a limit.
create or replace function limit_drain(p_queue bigint, p_limit json) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
begin
  if exists (select from pace where queue_id = p_queue and spec || hours <> '' and spec not like '% (draining)') then
    return json_build_object('rings', '[]'::json);
  end if;
  return limit_queue(p_queue, p_limit);
end $$;

-- Set the limit of a lane's credential; `known`: whether there is such a lane.
create or replace function limit_lane(p_lane bigint, p_limit json) returns json language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_lanes bigint[] := array(
    select o.id from lane l join lane o on o.tenant = l.tenant and o.transport = l.transport
       and o.server = l.server and o.credential = l.credential where l.id = p_lane order by 1);
begin
  if v_lanes = '{}' then
    return json_build_object('now', now_ms(), 'known', false);
  end if;
  perform lock_exclusive(v_lanes);
  perform from lane where id = any (v_lanes) order by id for no key update;
  perform pace_change(pace_of(0, p_lane, '', ''), p_limit);
  return json_build_object('now', now_ms(), 'rings', touch_lanes(v_lanes));
end $$;

-- Delete named limits that were lifted or have ended, two minutes ago or more. One that somebody still
-- reserves on is left: others lock them in order of number.
create or replace function drop_ended_limits() returns void language plpgsql as $$
declare
  v_old bigint[] := array(
    select id from pace where queue_id = 0 and name <> '' and next_us < now_us() - 120000000
       and (spec || hours = '' or (until > 0 and until < now_ms() - 120000)) order by id for update skip locked);
begin
  delete from pace_count where ledger = any (v_old);
  delete from pace_share where ledger = any (v_old);
  delete from pace where id = any (v_old);
end $$;

-- Set a named limit, or lift it (`known`: whether there is one). No lane is made or claimed meanwhile, so
-- none is owned by somebody who does not know of it.
create or replace function limit_name(p_tenant text, p_name text, p_lanes text, p_until bigint, p_limit json)
returns json language plpgsql
set search_path = postroad, pg_temp as $$
declare
  v_lanes bigint[];
  v_id bigint;
begin
  if p_limit ->> 'spec' = '' and p_limit ->> 'hours' = '' and not exists (
    select from pace where queue_id = 0 and tenant = p_tenant and name = p_name and name <> ''
       and spec || hours <> '' and (until = 0 or until > now_ms())) then
    return json_build_object('now', now_ms(), 'known', false);
  end if;
  perform pg_advisory_xact_lock(1383031140, 65);
  perform drop_ended_limits();
  v_lanes := array(
    select l.id from lane l
     where (p_tenant in (l.tenant, '*')) and (lane_matches(p_lanes, l.transport, l.server) or exists (
       select from pace p where p.queue_id = 0 and p.tenant = p_tenant and p.name = p_name
          and lane_matches(p.lanes, l.transport, l.server))));
  perform lock_exclusive(v_lanes);
  v_id := pace_of(0, 0, p_tenant, p_name);
  perform pace_change(v_id, p_limit);
  update pace set lanes = p_lanes, until = p_until where id = v_id and p_lanes <> '';
  return json_build_object('now', now_ms(), 'rings', touch_lanes(array(
    select id from lane where id = any (v_lanes) and owner is not null)));
end $$;

-- The limits of a queue and of a lane, and how far they are used.
create or replace function paces(p_queue bigint, p_lane bigint) returns json language sql stable
set search_path = postroad, pg_temp as $$
  select coalesce(json_agg(json_build_object(
           'shared', p.queue_id = 0, 'limit', p.spec, 'cost', p.cost,
           'taken_until_ms', case when p.spec <> '' then p.next_us / 1000 else 0 end,
           'full_until_ms', pace_full(p.id, p.counted, p.cost, now_ms() * 1000) / 1000,
           'name', p.name, 'hours', p.hours, 'zone', p.zone, 'until_ms', p.until)
           order by p.queue_id, p.spacing_us desc, p.id), '[]')
    from (select * from paces_of_lane(p_lane)
          union all
          select * from pace where queue_id = p_queue and p_queue > 0 and spec || hours <> '') p
$$;

-- The limits of a queue as [its ledgers, its hours]: those of its lane, the slowest first, since its slots are
-- shared fairly; then its own.
create or replace function limits_of(p_queue bigint) returns json language sql stable
set search_path = postroad, pg_temp as $$
  select json_build_array(
           coalesce(json_agg(p.id order by p.queue_id, p.spacing_us desc, p.id) filter (where p.spec <> ''), '[]'),
           coalesce(json_agg(json_build_array(p.hours, p.zone)) filter (where p.hours <> ''), '[]'))
    from (select p.* from queue_lane ql cross join lateral paces_of_lane(ql.lane_id) p
           where ql.queue_id = p_queue and ql.shard = 0
          union all
          select * from pace where queue_id = p_queue and spec || hours <> '') p
$$;
