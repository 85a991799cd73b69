-- Who the hub is. One that was silent for so long is asked to say something; answers whether it was.
select holder, beat_at, name, silent,
       case when silent then pg_notify('postroad', '{"hub": true}') end
  from (select *, beat_at < postroad.now_ms() - $1::bigint as silent from postroad.hub) as known
