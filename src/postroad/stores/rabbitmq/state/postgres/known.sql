-- What is known of messages (a JSON list of ids): spent copies, noted starts, whether finished.
select j.id, coalesce(b.hop, -1), coalesce(b.starts, 0),
       exists (select from postroad.finished(array[j.id]))
  from (select value::bigint as id from json_array_elements_text($1::json)) j
  left join postroad.broker_message b on b.id = j.id
 where b.id is not null or exists (select from postroad.finished(array[j.id]))
