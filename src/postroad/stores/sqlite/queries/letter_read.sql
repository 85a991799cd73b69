-- Letters by mailbox and position, a JSON list of pairs; not those that are too old.
select mailbox, position, at, text, body
  from json_each(?1) j
  join letter on mailbox = j.value ->> 0 and position = j.value ->> 1
 where expires_at > ?2
