-- Once, as a superuser of the server: psql -v password=... -v backup_password=... -f postgresql.sql
CREATE ROLE repository LOGIN PASSWORD :'password' NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
CREATE DATABASE repository OWNER repository ENCODING 'UTF8' TEMPLATE template0;
REVOKE ALL ON DATABASE repository FROM PUBLIC;
-- For pg_dump alone: row-level security lets nobody else read all tenants at once. Never give it to the service.
CREATE ROLE repository_backup LOGIN PASSWORD :'backup_password' BYPASSRLS NOSUPERUSER;
GRANT CONNECT ON DATABASE repository TO repository_backup;
GRANT pg_read_all_data TO repository_backup;
