-- A claim brings the first messages.

-- As claim_v1, whose answer is in the first row; the other rows are the first two messages of the
-- rungs that are due, in the form of fetch_v2, so that a lane with one message needs no reading.
-- `want` is the place of the rung in the look. Ordered slots are read by their owner: their heads
-- may be settled meanwhile.
create function claim_v2(p_owner bigint, p_reaped int, p_mine int, p_host text, p_pid int,
                         p_levels int[], p_floors bigint[], p_pools text[], p_limit int)
returns table (id bigint, rung bigint, queue bigint, lane bigint, level int, attempts int, marks int,
               place bigint, due bigint, accepted_at bigint, expires_at bigint, body bytea,
               headers bytea, want int, answer json)
language plpgsql
set search_path = postroad, pg_temp set enable_seqscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
#variable_conflict use_column
declare
  v_answer json := claim_v1(p_owner, p_reaped, p_mine, p_host, p_pid, p_levels, p_floors, p_pools, p_limit);
  v_now bigint := (v_answer #>> '{seen,now}')::bigint;
begin
  return query select null::bigint, null::bigint, null::bigint, null::bigint, null::int, null::int,
    null::int, null::bigint, null::bigint, null::bigint, null::bigint, null::bytea, null::bytea,
    null::int, v_answer;
  if v_now is null then
    return;
  end if;
  return query
  select m.id, r.rung, r.queue, r.lane, m.level, m.attempts, m.marks, m.place, m.due, m.accepted_at,
         m.expires_at, case when m.due <= v_now and octet_length(m.body) <= 8192 then m.body end,
         case when m.due <= v_now then m.headers end, r.n::int, null::json
    from (select e.n, (e.row ->> 1)::bigint as rung, (e.row ->> 2)::bigint as lane,
                 (e.row ->> 3)::bigint as queue
            from json_array_elements(v_answer #> '{seen,rungs}') with ordinality e(row, n)
           where e.n <= 512 and e.row ->> 6 = '0') r
   cross join lateral (select * from message y where y.rung_id = r.rung
                        order by y.place, y.id limit 2) m;
end $$;
