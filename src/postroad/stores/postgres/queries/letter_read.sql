-- Letters by mailbox and position; not those that are too old.
select mailbox, position, at, text, body
  from unnest($1::bigint[], $2::bigint[]) w (mailbox, position)
  join postroad.letter using (mailbox, position)
 where expires_at > $3
