-- What is known of messages (a JSON list of ids): spent copies, noted starts, whether finished.
select j.value, coalesce(b.hop, -1), coalesce(b.starts, 0), h.id is not null
  from json_each(?1) j
  left join broker_message b on b.id = j.value
  left join history h on h.id = j.value
 where b.id is not null or h.id is not null
