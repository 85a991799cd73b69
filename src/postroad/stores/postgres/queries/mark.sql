-- Note what is about to start; durable before it is answered.
select postroad.mark_v1($1, $2, $3, $4)
