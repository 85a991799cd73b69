-- Contents that are stored once.

-- Delete a content that nothing uses; answers how many. Whoever notes a use locks the content: the second statement sees
-- what was noted before the first one got the lock.
create or replace function drop_blob(p_tenant text, p_blob text) returns int language plpgsql
set search_path = postroad, pg_temp as $$
declare
  v_gone int;
begin
  perform 1 from blob where tenant = p_tenant and blob = p_blob for update;
  delete from blob b where b.tenant = p_tenant and b.blob = p_blob
     and not exists (select from blob_use u where u.tenant = p_tenant and u.blob = p_blob);
  get diagnostics v_gone = row_count;
  return v_gone;
end $$;
