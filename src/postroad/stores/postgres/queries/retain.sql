-- Forget finished work past its time.
select postroad.retain_v1($1, $2, $3) + postroad.forget_tries_v1($1, $3)
