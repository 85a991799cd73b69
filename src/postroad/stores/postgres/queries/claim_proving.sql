-- The same, and a ring by which the bell proves that it is heard.
select claimed.* from postroad.claim($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as claimed,
       pg_notify('postroad', $12)
