-- Note what is about to start; durable before it is answered.
select postroad.mark($1, $2, $3, $4)
