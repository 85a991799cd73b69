-- One after the other: of two who say that a message (a JSON list of ids) is finished one is first.
select pg_advisory_xact_lock(x.id)
  from (select value::bigint as id from json_array_elements_text($1::json) order by 1) x
