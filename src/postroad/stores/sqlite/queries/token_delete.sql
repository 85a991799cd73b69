-- Forget an access token.
delete from token where id = ?2 and (?1 is null or tenant = ?1) returning 1
