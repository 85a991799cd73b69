-- Messages whose own deadline has passed.
select id from message where expires_at <= ?1 and expires_at < 4611686018427387904
 order by expires_at limit ?2
