-- Figures of the whole fleet.

-- Delete a slice of the buckets of a step that are past their retention.
create or replace function forget_rollups(p_step int, p_keep_ms bigint, p_limit int) returns int language sql
set search_path = postroad, pg_temp as $$
  with gone as (
    delete from rollup
     where ctid = any (array(select ctid from rollup where step = p_step and at < now_ms() - p_keep_ms limit p_limit))
    returning 1)
  select count(*)::int from gone
$$;
