-- Forget finished work past its time.
select postroad.retain($1, $2, $3) + postroad.forget_tries($1, $3)
