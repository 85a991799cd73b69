-- Forget an access token.
delete from postroad.token where id = $2 and ($1::text is null or tenant = $1) returning 1
